// SPDX-License-Identifier: MIT
// Ranges in a JSON file that the reference also reads and writes (SaveAndRestore, ref:calibration#range-files).
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "calib/value_statistics.h"
#include "config/enums.h"
#include "numeric/quant_params.h"

namespace quarkq::calib {

using NamedRanges = std::map<std::string, numeric::Range>;

/// Writes by atomic rename. MinMax and NonOverflow write [[lo], [hi]], the other methods [lo, hi], like the reference.
Status save_ranges(const std::string& path, const NamedRanges& ranges, config::CalibrateMethod method);

/// Reads both forms. Fails with kBadData naming the file and the fault.
Result<NamedRanges> load_ranges(const std::string& path);

// A tensor's histogram as a CSV file (SaveTensorHistFig): for plots, and to explain a range.

/// Files of one folder, each named after its tensor.
class HistogramFolder {
 public:
  explicit HistogramFolder(std::string path) : path_(std::move(path)) {}

  /// Writes `<folder>/<name>.csv` with '/', '.' and ':' of the name replaced by '_', and a suffix "_2", "_3", ... if an
  /// earlier tensor has that name: comment lines with tensor and range, then "low,high,count" per occurring bin, in
  /// ascending order. Creates the folder if necessary.
  Status save(const std::string& name, const ValueStatistics& statistics, numeric::Range range);

 private:
  std::string free_name(const std::string& tensor);

  std::string path_;
  std::set<std::string> taken_;
};

}  // namespace quarkq::calib
