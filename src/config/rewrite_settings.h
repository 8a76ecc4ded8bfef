// SPDX-License-Identifier: MIT
// The supported keys of SimplifyModelOptions (ref:rewrites#simplifier).
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
  std::optional<int64_t> size_threshold;  ///< Upper bound on the bytes of a folded result.
  /// Merge a Reshape with a shape computed at run time into the preceding one, although a 0 in the shape then refers to
  /// another dimension. Only in compat mode.
  bool merges_computed_shapes = false;
  bool runs(std::string_view step) const { return !skipped_steps.contains(step); }
};

/// Reads the supported options. Other keys and values of other kinds have no effect.
SimplifySettings read_simplify_settings(const Settings& settings);

// The file that RConfigPath names (ref:equalization#quarot): which layers QuaRot rotates, by the names of their nodes.

/// One entry of the list R1_pairs.
struct RotationEntry {
  std::string label;  ///< "<file>: R1_pairs[0]", for messages
  std::vector<std::string> previous, next;
  std::optional<std::string> norm;
};

/// Fails unless the file contains a list of such entries; the message names the file, the entry and the key.
Result<std::vector<RotationEntry>> load_rotation_config(const std::string& path);

// New values of attributes of single nodes, in the format of the pass onnx_set_node_attributes.

/// An attribute value of a supported kind. NoValue: another kind, or a list of several kinds.
using AttributeUpdate = std::variant<NoValue, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                     std::vector<std::string>>;

struct NodeUpdate {
  std::string node;
  std::vector<std::pair<std::string, AttributeUpdate>> attributes;
};

/// Parses "[{node_name: N, attributes: {A: V}}, ...]". As strict as the reference: 1 is not a FLOAT, and true is not an
/// INT.
Result<std::vector<NodeUpdate>> parse_node_updates(const std::string& text);

}  // namespace quarkq::config
