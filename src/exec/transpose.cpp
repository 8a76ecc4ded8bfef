// SPDX-License-Identifier: MIT
#include "exec/transpose.h"

#include <algorithm>
#include <array>

#include "base/parallel.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kTask = 256;  ///< rows and columns that one thread takes at a time: they fit in its cache

template <typename T>
void transpose_part(const std::byte* source, std::byte* destination, const TransposedPart& part) {
  const auto* from = reinterpret_cast<const T*>(source);
  auto* to = reinterpret_cast<T*>(destination);
  if constexpr (sizeof(T) == 4) {
    QQ_DISPATCH(exec, transpose_4)(from, to, part);
  } else {
    const int64_t rows = part.rows, from_stride = part.from_stride, to_stride = part.to_stride;
    for (int64_t c = 0; c < part.columns; ++c) {
      for (int64_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
    }
  }
}

decltype(&transpose_part<uint8_t>) part_function(int size) {
  switch (size) {
    case 1: return transpose_part<uint8_t>;
    case 2: return transpose_part<uint16_t>;
    case 4: return transpose_part<uint32_t>;
    case 8: return transpose_part<uint64_t>;
    default: return transpose_part<std::array<uint64_t, 2>>;
  }
}

}  // namespace

void transpose_matrices(const std::byte* source, std::byte* destination, const MatrixBatch& matrices) {
  const int64_t batch = matrices.batch, rows = matrices.rows, columns = matrices.columns;
  const int size = matrices.size;
  const auto transpose = part_function(size);
  const int64_t across = (columns + kTask - 1) / kTask, down = (rows + kTask - 1) / kTask;
  const Team team{.threads = batch * rows * columns > 32768 ? 0 : 1};
  parallel_for(batch * across * down, team, [&](int64_t task) {
    const int64_t matrix = task / (across * down) * rows * columns;
    const int64_t r = task / across % down * kTask, c = task % across * kTask;
    transpose(source + (matrix + r * columns + c) * size, destination + (matrix + c * rows + r) * size,
              {columns, rows, std::min(kTask, rows - r), std::min(kTask, columns - c)});
  });
}

}  // namespace quarkq::exec
