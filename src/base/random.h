// SPDX-License-Identifier: MIT
// Random numbers of NumPy's legacy generator (MT19937), so that random calibration data equal the data of its users.
#pragma once

#include <cstdint>
#include <random>

namespace quarkq {

class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed) : engine_(seed) {}

  /// Returns a uniform number in [0, 1) with 53 bits.
  double uniform() {
    const uint32_t a = next() >> 5, b = next() >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
  }

  /// Returns a uniform integer in [low, high]; high - low < 2^32 - 1. Uses masked rejection, and draws no number if
  /// both are equal.
  int64_t integer(int64_t low, int64_t high) {
    const auto span = static_cast<uint32_t>(high - low);
    if (span == 0) return low;
    uint32_t mask = span;
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    uint32_t value = 0;
    do {
      value = next() & mask;
    } while (value > span);
    return low + static_cast<int64_t>(value);
  }

 private:
  uint32_t next() { return static_cast<uint32_t>(engine_()); }
  std::mt19937 engine_;
};

}  // namespace quarkq
