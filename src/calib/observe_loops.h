// SPDX-License-Identifier: MIT
// Vectorized loops that read a tensor once while it is in cache.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::calib {

/// Smallest and largest finite value, and how many values are not finite.
struct Extremes {
  float min = 0;  ///< meaningless when finite == 0
  float max = 0;
  int64_t finite = 0;
  int64_t not_finite = 0;
};

/// Counts of one (sign, exponent) row: index is the 9 leading mantissa bits.
constexpr int kMantissaBits = 9;
constexpr int kBinsPerRow = 1 << kMantissaBits;
constexpr int kRows = 512;  ///< sign and 8 exponent bits
struct BinRow {
  uint32_t count[kBinsPerRow];
};

QQ_DECLARE_ISA(
    Extremes find_extremes(const float* values, int64_t count);
    /// Adds each value to its bin. `rows` has kRows entries; rows that occur must not be null. Zeros are not binned: their
    /// number is returned. REQUIRES: all values finite.
    int64_t count_bins(const float* values, int64_t count, BinRow* const* rows);
    /// Marks in used[kRows] the rows that the values fall into.
    void find_rows(const float* values, int64_t count, uint8_t* used);)

}  // namespace quarkq::calib
