// SPDX-License-Identifier: MIT
// The operators that a spelled-out LayerNormalization is made of (ref:rewrites#layer-normalization).
#pragma once

#include <cstdint>
#include <optional>

#include "rewrite/fuse_group.h"

namespace quarkq::rewrite {

constexpr int64_t kFirstLayerNormOpset = 17;  // of the standard operator

struct LayerNormGroup {
  MatchedGroup group;
  ir::ValueId data, weight, bias;
  ir::NodeId scaling;  ///< the Mul by the weight
  float epsilon = 0;

  /// LayerNormalization in the place of the group.
  ir::GraphPatch::PatchNode node(std::string name) const;
};

/// (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis, which ends in `root`.
std::optional<LayerNormGroup> match_layer_norm(const ir::Graph& graph, const ir::Node& root);

}  // namespace quarkq::rewrite
