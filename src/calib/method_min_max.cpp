// SPDX-License-Identifier: MIT
// MinMax and NonOverflow (spec 03 A.2).
#include <algorithm>
#include <cmath>

#include "calib/calibrator_table.h"

namespace quarkq::calib {
namespace {

/// Mean of the samples' extremes, added in sample order in double.
numeric::Range mean_extremes(const std::vector<numeric::Range>& samples) {
  double low = 0, high = 0;
  for (const numeric::Range& sample : samples) {
    low += sample.min;
    high += sample.max;
  }
  const auto count = static_cast<double>(samples.size());
  return {static_cast<float>(low / count), static_cast<float>(high / count)};
}

}  // namespace

numeric::Range finish_min_max(const ValueStatistics& statistics, const FinishOptions& options) {
  numeric::Range range = statistics.extremes();
  if (options.moving_average && !statistics.samples().empty()) range = mean_extremes(statistics.samples());
  if (!options.symmetric_range) return range;
  const float most = std::max(std::abs(range.min), std::abs(range.max));
  return {-most, most};
}

}  // namespace quarkq::calib
