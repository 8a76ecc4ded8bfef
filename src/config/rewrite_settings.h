// SPDX-License-Identifier: MIT
// SimplifyModelOptions (ref:rewrites#simplifier), as far as they are known here.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/no_value.h"
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

// The file that RConfigPath names (ref:equalization#quarot): which layers QuaRot rotates, by the names of their nodes.

/// One entry of the list R1_pairs.
struct RotationEntry {
  std::string label;  ///< "<file>: R1_pairs[0]", for messages
  std::vector<std::string> previous, next;
  std::optional<std::string> norm;
};

/// Fails on what is no list of such entries; the message names the file, the entry and the key.
Result<std::vector<RotationEntry>> load_rotation_config(const std::string& path);

// New values of attributes of single nodes, as the pass onnx_set_node_attributes lists them.

/// A value of the kinds that attributes have; NoValue: one of another kind, or a list of several kinds.
using AttributeUpdate = std::variant<NoValue, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                     std::vector<std::string>>;

struct NodeUpdate {
  std::string node;
  std::vector<std::pair<std::string, AttributeUpdate>> attributes;
};

/// "[{node_name: N, attributes: {A: V}}, ...]". As strict as the reference: 1 is no FLOAT, and true no INT.
Result<std::vector<NodeUpdate>> parse_node_updates(const std::string& text);

}  // namespace quarkq::config
