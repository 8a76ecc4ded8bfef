// SPDX-License-Identifier: MIT
// A tensor's histogram as a CSV file (SaveTensorHistFig): for plots, and to explain a range.
#pragma once

#include <string>

#include "calib/value_statistics.h"

namespace quarkq::calib {

/// `<folder>/<name>.csv` with '/', '.' and ':' of the name as '_': comment lines with tensor and range, then
/// "low,high,count" per bin that occurs, from the most negative up. The folder is made when it is missing.
Status save_histogram(const std::string& folder, const std::string& name, const ValueStatistics& statistics,
                      numeric::Range range);

}  // namespace quarkq::calib
