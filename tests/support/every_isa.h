// SPDX-License-Identifier: MIT
// Loops under test on every instruction set that this machine has.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "base/isa.h"

/// Calls check(expression of each instruction set's function).
#define QQ_ON_EVERY_ISA(function, check)                \
  do {                                                  \
    check(sse41::function);                             \
    if (isa() >= Isa::kAvx2) check(avx2::function);     \
    if (isa() >= Isa::kAvx512) check(avx512::function); \
  } while (false)

namespace quarkq::test {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Lengths around the width of a vector.
constexpr int64_t kLengths[] = {1, 3, 7, 15, 16, 17, 31, 33, 64, 65, 100, 197, 2100};

inline std::vector<float> random_values(int64_t n, uint32_t seed = 1, float low = -4, float high = 4) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = distribution(generator);
  return values;
}

}  // namespace quarkq::test
