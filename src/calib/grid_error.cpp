// SPDX-License-Identifier: MIT
#include "calib/grid_error.h"

#include <algorithm>
#include <cmath>

namespace quarkq::calib {

GridError grid_error(const std::vector<WeightedValue>& values, numeric::IntegerRange limits, int32_t zero_point,
                     float scale) {
  GridError sum;
  const auto step = static_cast<double>(scale);
  const auto low = static_cast<double>(limits.min), high = static_cast<double>(limits.max);
  for (const WeightedValue& entry : values) {
    const auto count = static_cast<double>(entry.count);
    const double wanted = std::nearbyint(entry.value / scale) + zero_point;
    const double steps = std::clamp(wanted, low, high);
    if (steps == wanted && entry.width >= scale) {
      sum.absolute += count * step / 4;
      sum.squared += count * step * step / 12;
      continue;
    }
    const double difference = std::abs(static_cast<double>(entry.value) - (steps - zero_point) * step);
    sum.absolute += count * difference;
    sum.squared += count * difference * difference;
  }
  return sum;
}

}  // namespace quarkq::calib
