// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

namespace quarkq::numeric {

/// Whether none of the real numbers of a range is NaN or infinite; true when there are none.
template <typename Values>
bool all_finite(const Values& values) {
  return std::ranges::all_of(values, [](auto value) { return std::isfinite(value); });
}

/// Whether a scale can be used as a divisor. Models of other tools contain NaN, infinite, zero and negative scales.
inline bool is_usable_scale(float scale) { return scale > 0 && std::isfinite(scale); }

// Rounding to integers, by its three names. These scalar definitions are normative; vectorized loops are tested against
// them. All keep NaN and infinities.

/// Nearest, ties to the even neighbour: 0.5 -> 0, 1.5 -> 2, -2.5 -> -2. REQUIRES: the default rounding mode is in
/// force.
template <typename Real>
Real round_half_even(Real x) {
  return std::rint(x);
}

/// Nearest, ties away from zero: 0.5 -> 1, -0.5 -> -1.
template <typename Real>
Real round_half_away(Real x) {
  return std::round(x);
}

/// Nearest, ties towards plus infinity: 0.5 -> 1, -0.5 -> 0. (Not floor(x + 0.5), whose sum rounds 0.49999997 up.)
template <typename Real>
Real round_half_up(Real x) {
  const Real down = std::floor(x);
  return x - down >= Real(0.5) ? down + Real(1) : down;
}

}  // namespace quarkq::numeric
