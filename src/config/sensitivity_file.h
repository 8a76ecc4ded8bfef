// SPDX-License-Identifier: MIT
// SensitivityCacheFile (ref:mixed-precision#sensitivity-cache): what each candidate of mixed precision scored, as JSON
// that users edit to leave candidates out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::config {

struct RankedCandidate {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<double> scores;  ///< with each config; lower is better
  size_t config = 0;           ///< that scored least
  bool enabled = true;         ///< false: it keeps its formats
};

struct SensitivityCache {
  std::string key;
  std::vector<RankedCandidate> candidates;  ///< in rising order of their scores
};

/// Nothing when there is no such file. kInvalidArgument for another form; files of the reference have the same form
/// and other keys.
Result<std::optional<SensitivityCache>> load_sensitivity(const std::string& path);
Status save_sensitivity(const std::string& path, const SensitivityCache& cache);

}  // namespace quarkq::config
