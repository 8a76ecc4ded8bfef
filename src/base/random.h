// SPDX-License-Identifier: MIT
// Random numbers as NumPy's legacy generator draws them (MT19937), so that random calibration data agree with its
// users'.
#pragma once

#include <cstdint>
#include <random>

namespace quarkq {

class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed) : engine_(seed) {}

  /// Uniform in [0, 1) with 53 bits.
  double uniform() {
    const uint32_t a = next() >> 5, b = next() >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
  }

  /// Uniform integer in [low, high]; high - low < 2^32 - 1. Masked rejection; draws nothing when both are equal.
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
