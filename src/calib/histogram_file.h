// SPDX-License-Identifier: MIT
// A tensor's histogram as a CSV file (SaveTensorHistFig): for plots, and to explain a range.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "calib/value_statistics.h"

namespace quarkq::calib {

/// Files of one folder, each named after its tensor.
class HistogramFolder {
 public:
  explicit HistogramFolder(std::string path) : path_(std::move(path)) {}

  /// `<folder>/<name>.csv` with '/', '.' and ':' of the name as '_', and "_2", "_3", ... after it where an earlier
  /// tensor has that name: comment lines with tensor and range, then "low,high,count" per bin that occurs, from the
  /// most negative up. The folder is made when it is missing.
  Status save(const std::string& name, const ValueStatistics& statistics, numeric::Range range);

 private:
  std::string free_name(const std::string& tensor);

  std::string path_;
  std::set<std::string> taken_;
};

}  // namespace quarkq::calib
