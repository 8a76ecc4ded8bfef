// SPDX-License-Identifier: MIT
// Vectorized loops that read a tensor once while it is in cache.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::calib {

/// Smallest and largest finite value, and how many values are not finite.
struct Extremes {
  float min = 0;  ///< Meaningless if finite == 0.
  float max = 0;
  int64_t finite = 0;
  int64_t not_finite = 0;
  uint32_t smallest = 0xFFFFFFFF;  ///< Bits of the smallest magnitude above zero; all ones if there is none.
};

/// A bin is a value truncated to its sign, exponent and 9 leading mantissa bits: its number is bits >> kBinShift, the
/// sign on top.
constexpr int kBinShift = 14;
constexpr int kMantissaBits = 23 - kBinShift;
constexpr uint32_t kSignBin = uint32_t{1} << (31 - kBinShift);
constexpr uint32_t kBinCount = 2 * kSignBin;
/// First bin of infinities and NaN, for either sign.
constexpr uint32_t kInfinityBin = 0x7F800000u >> kBinShift;

/// Upper bound on the values of one count_bins() call.
constexpr int64_t kMaxCounted = 8192;

/// Bins whose small counter overflowed to 0.
struct Carries {
  int count = 0;
  uint32_t bins[kMaxCounted];
};

QQ_DECLARE_ISA(Extremes find_extremes(const float* values, int64_t count);
               /// Returns the extremes, and adds each value to its bin in `table`, which has kBinCount entries. Entries
               /// are small so that the tables of many tensors stay in cache. Zeros are frequent after a Relu, and
               /// increments of the same bin would wait for each other, so zeros are distributed over bins of
               /// infinities, which are never read. REQUIRES: count <= kMaxCounted, no carries yet.
               Extremes count_bins(const float* values, int64_t count, uint16_t* table, Carries& carries);)

}  // namespace quarkq::calib
