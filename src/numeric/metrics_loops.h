// SPDX-License-Identifier: MIT
// The sums that every distance of two arrays is computed from, in one pass.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::numeric {

/// Sums over arrays a (the baseline) and b. The loops propagate NaN; numeric::pair_sums() leaves NaN and infinities
/// out.
struct PairSums {
  double dot = 0, norm_a = 0, norm_b = 0;  ///< sums of a b, a a, b b
  double squared_distance = 0;             ///< sum of (a - b)^2
  double max_distance = 0;                 ///< largest |a - b|
  double max_a = 0;                        ///< largest a
  double max_magnitude_a = 0;              ///< largest |a|
  /// The sums are those of values * 2^-exponent, because the squares of large doubles are infinite; the largest values
  /// are as they are.
  int exponent = 0;
  uint64_t compared = 0;   ///< places where both hold a finite number: those that the sums are about
  uint64_t same = 0;       ///< places where both hold NaN, or the same infinity; left out of the sums
  uint64_t differing = 0;  ///< places where one holds NaN or an infinity that the other does not; left out of the sums
};

QQ_DECLARE_ISA(
    /// Sums run in 8 lanes, whatever the instruction set: value i belongs to lane i % 8. REQUIRES: count >= 1.
    PairSums pair_sums(const double* a, const double* b, int64_t count);)

}  // namespace quarkq::numeric
