// SPDX-License-Identifier: MIT
// What the trials of a search may differ in (ref:search#search-space), and the combinations of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/node.h"

namespace quarkq::config {

/// Numbers from low to high, both inclusive.
struct SearchRange {
  double low = 0, high = 0;
  double step = 0;  ///< between integers, at least 1; of reals 0: any number
  bool is_integer = false;
  bool is_log = false;  ///< drawn evenly by their logarithm; low is above 0
};

/// A choice of no group has this value; without one: any but null.
struct SearchCondition {
  std::string key;
  std::optional<Node> value;
};

/// One thing that trials may differ in: one of `values`, or a number of `range`.
struct SearchChoice {
  std::string group;  ///< the map that the key stands in, such as adaround_params; empty: none
  std::string key;
  std::vector<Node> values;
  std::optional<SearchRange> range;
  std::vector<SearchCondition> conditions;  ///< without effect unless all hold
  bool is_training = false;                 ///< of fine-tuning, which two stages decide in the second one

  bool varies() const { return range.has_value() || values.size() > 1; }
};

/// What one trial takes: index of the choice and its value, in the order of the choices. Choices whose conditions do
/// not hold are left out.
struct Chosen {
  size_t choice = 0;
  Node value;
};
using Combination = std::vector<Chosen>;

/// The first `most` combinations, the last choice varying fastest, each once. REQUIRES: choices of no group come
/// before those that have conditions on them. kInvalidArgument for a range of reals.
Result<std::vector<Combination>> all_combinations(const std::vector<SearchChoice>& choices, size_t most);

/// `count` combinations drawn evenly with a fixed seed, each once; fewer when there are fewer.
std::vector<Combination> drawn_combinations(const std::vector<SearchChoice>& choices, size_t count);

// The search_space of either search, as choices (ref:search#search-space).

/// Of AutoSearchPro: spec classes with their parameters, algorithms with theirs, and options.
Result<std::vector<SearchChoice>> read_spec_space(const Node& space);

/// Of AutoSearch: fields, options and the keys of FastFinetune, each with a list.
Result<std::vector<SearchChoice>> read_field_space(const Node& space);

}  // namespace quarkq::config
