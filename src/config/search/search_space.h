// SPDX-License-Identifier: MIT
// The search space of trials (ref:search#search-space), and its combinations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/node.h"

namespace quarkq::config {

/// Numbers from low to high, both included.
struct SearchRange {
  double low = 0, high = 0;
  double step = 0;  ///< Step between integers, at least 1; for reals 0: any number.
  bool is_integer = false;
  bool is_log = false;  ///< Drawn uniformly on a logarithmic scale; low is above 0.
};

/// Requires that a choice without a group has this value; without a value: any except null.
struct SearchCondition {
  std::string key;
  std::optional<Node> value;
};

/// One dimension of the search: one of `values`, or a number in `range`.
struct SearchChoice {
  std::string group;  ///< The map that contains the key, such as adaround_params; empty: none.
  std::string key;
  std::vector<Node> values;
  std::optional<SearchRange> range;
  std::vector<SearchCondition> conditions;  ///< No effect unless all conditions are met.
  bool is_training = false;                 ///< Belongs to fine-tuning, which the second of two stages decides.

  bool varies() const { return range.has_value() || values.size() > 1; }
};

/// One value of a trial: index of the choice and its value, in the order of the choices. Choices whose conditions are
/// not met are omitted.
struct Chosen {
  size_t choice = 0;
  Node value;
};
using Combination = std::vector<Chosen>;

/// Returns the first `most` combinations, each once, with the last choice varying fastest. Fails with kInvalidArgument
/// for a range of reals. REQUIRES: choices without a group precede choices that have conditions on them.
Result<std::vector<Combination>> all_combinations(const std::vector<SearchChoice>& choices, size_t most);

/// Returns `count` combinations drawn uniformly with a fixed seed, each once; fewer if there are fewer.
std::vector<Combination> drawn_combinations(const std::vector<SearchChoice>& choices, size_t count);

/// Reads the space of AutoSearchPro: spec classes and algorithms with their parameters, and options.
Result<std::vector<SearchChoice>> read_spec_space(const Node& space);

/// Reads the space of AutoSearch: fields, options and the keys of FastFinetune, each with a list.
Result<std::vector<SearchChoice>> read_field_space(const Node& space);

}  // namespace quarkq::config
