// SPDX-License-Identifier: MIT
// The search_space of either search, as choices (ref:search#search-space).
#pragma once

#include <vector>

#include "config/search/search_space.h"

namespace quarkq::config {

/// Of AutoSearchPro: spec classes with their parameters, algorithms with theirs, and options.
Result<std::vector<SearchChoice>> read_spec_space(const Node& space);

/// Of AutoSearch: fields, options and the keys of FastFinetune, each with a list.
Result<std::vector<SearchChoice>> read_field_space(const Node& space);

}  // namespace quarkq::config
