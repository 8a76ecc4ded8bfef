// SPDX-License-Identifier: MIT
#include "numeric/weight_loops.h"

#include <algorithm>
#include <cmath>

namespace quarkq::numeric {

Extremes extremes_of(std::span<const float> values) {
  constexpr size_t kShortRun = 64;  // fewer are not worth a call of a vectorized loop
  if (values.size() >= kShortRun)
    return QQ_DISPATCH(numeric, extremes)(values.data(), static_cast<int64_t>(values.size()));
  if (values.empty()) return {};
  Extremes found{values[0], values[0], false};
  for (const float value : values) {
    found.has_nan = found.has_nan || std::isnan(value);
    found.min = std::min(found.min, value);
    found.max = std::max(found.max, value);
  }
  return found;
}

}  // namespace quarkq::numeric
