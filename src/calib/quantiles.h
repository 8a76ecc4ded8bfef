// SPDX-License-Identifier: MIT
// Quantiles from bins: inside the bin that holds the exact quantile, so within 0.2 % of it (ADR 0006).
#pragma once

#include "calib/value_statistics.h"

namespace quarkq::calib {

/// The smallest magnitude that at least `percent` % of all magnitudes do not exceed. Exact where it is the largest one.
/// REQUIRES: 0 <= percent <= 100.
float magnitude_quantile(const ValueStatistics& statistics, double percent);

/// The smallest value that at least the share `fraction` of all values does not exceed. Exact where it is the smallest
/// or the largest one. REQUIRES: 0 <= fraction <= 1.
float value_quantile(const ValueStatistics& statistics, double fraction);

/// The range that keeps `percent` % of the values (ref:calibration#percentiles): symmetric ones by magnitude, others
/// with half of the rest cut at either end; never beyond the observed extremes.
numeric::Range percentile_range(const ValueStatistics& statistics, double percent, bool symmetric);

}  // namespace quarkq::calib
