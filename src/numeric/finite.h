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

}  // namespace quarkq::numeric
