// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

namespace quarkq::numeric {

/// Returns whether all numbers of a range are finite; true for an empty range.
template <typename Values>
bool all_finite(const Values& values) {
  return std::ranges::all_of(values, [](auto value) { return std::isfinite(value); });
}

/// Returns whether a scale can be used as a divisor. Models of other tools contain NaN, infinite, zero and negative
/// scales.
inline bool is_usable_scale(float scale) { return scale > 0 && std::isfinite(scale); }

// Rounding to integers in three modes. These scalar definitions are normative; vectorized loops are tested against
// them. All keep NaN and infinities.

/// Rounds to nearest, ties to even: 0.5 -> 0, 1.5 -> 2, -2.5 -> -2. REQUIRES: the default rounding mode.
template <typename Real>
Real round_half_even(Real x) {
  return std::rint(x);
}

/// Rounds to nearest, ties away from zero: 0.5 -> 1, -0.5 -> -1.
template <typename Real>
Real round_half_away(Real x) {
  return std::round(x);
}

/// Rounds to nearest, ties towards plus infinity: 0.5 -> 1, -0.5 -> 0. floor(x + 0.5) would round 0.49999997 up.
template <typename Real>
Real round_half_up(Real x) {
  const Real down = std::floor(x);
  return x - down >= Real(0.5) ? down + Real(1) : down;
}

}  // namespace quarkq::numeric
