// SPDX-License-Identifier: MIT
// MinMax and NonOverflow (ref:calibration#min-and-max).
#include <algorithm>
#include <cmath>

#include "calib/calibrator_table.h"

namespace quarkq::calib {
namespace {

/// Mean of the samples' extremes, added in sample order in double.
numeric::Range mean_extremes(const std::vector<SampleRecord>& records) {
  double low = 0, high = 0, count = 0;
  for (const SampleRecord& record : records) {
    if (record.finite == 0) continue;
    low += record.range.min;
    high += record.range.max;
    ++count;
  }
  if (count == 0) return {};
  return {static_cast<float>(low / count), static_cast<float>(high / count)};
}

}  // namespace

Result<numeric::Range> finish_min_max(const ValueStatistics& statistics, const MethodOptions& options) {
  numeric::Range range = options.moving_average ? mean_extremes(statistics.records()) : statistics.extremes();
  if (!options.symmetric_range) return range;
  const float most = std::max(std::abs(range.min), std::abs(range.max));
  return numeric::Range{-most, most};
}

}  // namespace quarkq::calib
