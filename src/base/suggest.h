// SPDX-License-Identifier: MIT
// "did you mean ...?": the nearest known name for a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quarkq {

/// The candidate with the smallest edit distance to `name` (case ignored), or "" when none is close enough.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// ", did you mean X?" for the nearest candidate, or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace quarkq
