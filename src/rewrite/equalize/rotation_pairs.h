// SPDX-License-Identifier: MIT
// Which layers QuaRot rotates together: the file that RConfigPath names (ref:equalization#quarot).
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::rewrite {

/// Layers that write an activation, the norm between (may be absent), and the layers that read what it makes.
struct RotationPair {
  std::string label;  ///< "FILE: R1_pairs[0]", for messages
  std::vector<ir::NodeId> previous, next;
  ir::NodeId norm;
};

/// {"R1_pairs": [{"prev_nodes": [names], "norm_node": name, "next_nodes": [names]}, ...]}. Fails with kInvalidArgument
/// naming file, pair and node.
Result<std::vector<RotationPair>> read_rotation_pairs(const std::string& path, const ir::Graph& graph);

}  // namespace quarkq::rewrite
