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
  uint32_t smallest = 0xFFFFFFFF;  ///< bits of the smallest magnitude above zero; all ones when there is none
};

/// A bin is a magnitude cut to its exponent and 9 leading mantissa bits: its number is bits >> kBinShift.
constexpr int kBinShift = 14;
constexpr int kMantissaBits = 23 - kBinShift;

/// Where the bins of one table lie: positive magnitudes from bin `first` on, `count` of them, then the negative ones,
/// then kZeroPlaces places that stand for nothing.
struct BinRange {
  uint32_t first = 0;
  uint32_t count = 0;
  static constexpr uint32_t kZeroPlaces = 16;
  size_t table_size() const { return 2 * static_cast<size_t>(count) + kZeroPlaces; }
};

QQ_DECLARE_ISA(Extremes find_extremes(const float* values, int64_t count);
               /// Adds each value to its bin in `table`. Returns the number of zeros, which have no bin.
               /// REQUIRES: all values finite, their bins inside `range`.
               int64_t count_bins(const float* values, int64_t count, const BinRange& range, uint32_t* table);)

}  // namespace quarkq::calib
