// SPDX-License-Identifier: MIT
// SimplifyModelOptions (ref:rewrites#simplifier), as far as they are known here.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace quarkq::config {

struct SimplifySettings {
  std::set<std::string, std::less<>> skipped_steps, skipped_patterns;
  std::vector<std::string> input_shapes;
  std::optional<int64_t> size_threshold;  ///< bytes that a folded result may have at most
  /// A Reshape by a shape that only a run tells takes the place of the one before it, although the shape may hold a 0,
  /// which then refers to another dimension. Compat mode alone.
  bool merges_computed_shapes = false;
  bool runs(std::string_view step) const { return !skipped_steps.contains(step); }
};

/// Reads what is known of the options; other keys and values of other kinds have no effect.
SimplifySettings read_simplify_settings(const Settings& settings);

}  // namespace quarkq::config
