// SPDX-License-Identifier: MIT
// MinMSE among power-of-two scales (spec 03 A.8, mode "All"), from the bins' middles instead of the reference's
// histogram.
#include <algorithm>
#include <array>
#include <cmath>

#include "calib/calibrator_table.h"

namespace quarkq::calib {
namespace {

/// Coarsest first: twice the scale of the observed range, down to an eighth of it.
constexpr std::array<int, 5> kPositionOffsets = {-1, 0, 1, 2, 3};

/// Width of the bin around `value`.
double bin_width(float value) {
  return value == 0 ? 0.0 : std::ldexp(1.0, std::max(std::ilogb(value), -126) - kMantissaBits);
}

/// Sum over all values of (value - nearest step)^2. A bin's values count as its middle while bins are finer than the
/// grid. Where the grid is finer (16 bits), the middle of every bin is a grid point, which would hide all rounding:
/// there the values count as spread evenly, with an error of scale^2 / 12 each.
double squared_error(const std::vector<WeightedValue>& values, numeric::IntegerRange limits, int32_t zero_point,
                     float scale) {
  double error = 0;
  for (const WeightedValue& entry : values) {
    const double wanted = std::nearbyint(entry.value / scale) + zero_point;
    const double steps = std::min(std::max(wanted, static_cast<double>(limits.min)), static_cast<double>(limits.max));
    const double difference = static_cast<double>(entry.value) - (steps - zero_point) * static_cast<double>(scale);
    const bool is_spread = steps == wanted && bin_width(entry.value) >= static_cast<double>(scale);
    const double square =
        is_spread ? static_cast<double>(scale) * static_cast<double>(scale) / 12 : difference * difference;
    error += static_cast<double>(entry.count) * square;
  }
  return error;
}

}  // namespace

numeric::Range finish_power_of_two_mse(const ValueStatistics& statistics, const FinishOptions& options) {
  numeric::QuantSpec spec = options.spec;
  spec.symmetric = options.symmetric_range;
  spec.scale = numeric::ScaleKind::kPowerOfTwo;
  const Result<numeric::QuantParams> start = numeric::params_for_range(spec, statistics.extremes());
  if (!start.ok()) return statistics.extremes();  // extremes are finite, so this does not happen
  const int position = numeric::power_of_two_position(start.value().scale);
  const std::vector<WeightedValue> values = statistics.bins();
  numeric::QuantParams best = start.value();
  double best_error = -1;
  for (const int offset : kPositionOffsets) {
    const float scale = numeric::scale_of_position(position + offset);
    const double error = squared_error(values, spec.range(), start.value().zero_point, scale);
    if (best_error >= 0 && error >= best_error) continue;
    best_error = error;
    best.scale = scale;
  }
  return numeric::representable_range(spec, best);
}

}  // namespace quarkq::calib
