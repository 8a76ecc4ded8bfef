// SPDX-License-Identifier: MIT
// Distribution (ref:calibration#distribution): the range is the largest magnitude on both sides. What the reference
// computes beside it (mean and deviation, Scenario) is not used by its quantizers.
#include <algorithm>
#include <cmath>

#include "calib/calibrator_table.h"

namespace quarkq::calib {

Result<numeric::Range> finish_distribution(const ValueStatistics& statistics, const MethodOptions& options) {
  if (options.scenario != "same" && options.scenario != "p3") {
    return invalid_argument("Scenario: found ", options.scenario, ", allowed is same or p3");
  }
  const numeric::Range extremes = statistics.extremes();
  const float most = std::max(std::abs(extremes.min), std::abs(extremes.max));
  if (most == 0) return numeric::Range{-0.5f, 0.5f};  // the histogram of a tensor of zeros
  return numeric::Range{-most, most};
}

}  // namespace quarkq::calib
