// SPDX-License-Identifier: MIT
// MinMax and NonOverflow (ref:calibration#min-and-max).
#include <algorithm>
#include <cmath>

#include "calib/calibrator_table.h"

namespace quarkq::calib {
namespace {

/// Average of the samples' extremes, in sample order and in double. With a constant each sample after the first moves
/// it by that share of the distance; without one it is the mean.
numeric::Range average_extremes(const std::vector<SampleRecord>& records, std::optional<double> constant) {
  double low = 0, high = 0, count = 0;
  for (const SampleRecord& record : records) {
    if (record.finite == 0) continue;
    const bool is_moved = constant && count > 0;
    low += is_moved ? *constant * (record.range.min - low) : record.range.min;
    high += is_moved ? *constant * (record.range.max - high) : record.range.max;
    ++count;
  }
  if (count == 0) return {};
  const double parts = constant ? 1 : count;
  return {static_cast<float>(low / parts), static_cast<float>(high / parts)};
}

}  // namespace

Result<numeric::Range> finish_min_max(const ValueStatistics& statistics, const MethodOptions& options) {
  numeric::Range range = options.moving_average ? average_extremes(statistics.records(), options.averaging_constant)
                                                : statistics.extremes();
  if (!options.symmetric_range) return range;
  const float most = std::max(std::abs(range.min), std::abs(range.max));
  return numeric::Range{-most, most};
}

}  // namespace quarkq::calib
