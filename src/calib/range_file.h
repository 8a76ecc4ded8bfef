// SPDX-License-Identifier: MIT
// Ranges in a JSON file that the reference reads and writes too (SaveAndRestore, ref:calibration#range-files).
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "config/enums.h"
#include "numeric/range_to_params.h"

namespace quarkq::calib {

using NamedRanges = std::map<std::string, numeric::Range>;

/// Writes by atomic rename. MinMax and NonOverflow write [[lo], [hi]], the other methods [lo, hi], as the reference.
Status save_ranges(const std::string& path, const NamedRanges& ranges, config::CalibrateMethod method);

/// Takes both forms. Fails with kBadData naming the file and what is wrong in it.
Result<NamedRanges> load_ranges(const std::string& path);

}  // namespace quarkq::calib
