// SPDX-License-Identifier: MIT
// Reproducible draws for tests that try many shapes: the same sequence on every machine.
#pragma once

#include <random>

#include "support/run_op.h"

namespace quarkq::test {

class Draws {
 public:
  explicit Draws(uint32_t seed) : engine_(seed) {}

  /// Uniform in [low, high].
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool coin() { return integer(0, 1) == 1; }
  std::vector<int64_t> integers(size_t count, int64_t low, int64_t high) {
    std::vector<int64_t> drawn(count);
    for (int64_t& value : drawn) value = integer(low, high);
    return drawn;
  }
  ir::Shape shape(int64_t least_rank, int64_t most_rank, int64_t least_size, int64_t most_size) {
    return integers(static_cast<size_t>(integer(least_rank, most_rank)), least_size, most_size);
  }
  ir::Tensor tensor(ir::Shape dims, float low = -2.0f, float high = 2.0f) {
    return random_floats(std::move(dims), low, high, static_cast<uint32_t>(engine_()));
  }
  /// Every entry is an index of a dimension of this length, counted from the front or from the back.
  ir::Tensor indices(const ir::Shape& dims, int64_t length) {
    return ints(dims, integers(static_cast<size_t>(ir::checked_count(dims)), -length, length - 1));
  }
  template <typename T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(integer(0, static_cast<int64_t>(choices.size()) - 1))];
  }

 private:
  std::mt19937 engine_;
};

/// The position of `index` in a dense row-major array of these dimensions.
inline size_t offset_of(const ir::Shape& dims, const ir::Shape& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d] + index[d];
  return static_cast<size_t>(offset);
}

}  // namespace quarkq::test
