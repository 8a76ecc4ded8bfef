// SPDX-License-Identifier: MIT
// Helpers of the fusions of ref:rewrites#fusions: matching operands backwards, and replacing several nodes by one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/patch.h"
#include "pass/context.h"

namespace quarkq::rewrite {

/// Nodes of one pattern while it is matched. After a failed step the group is failed, and later steps also fail.
class MatchedGroup {
 public:
  MatchedGroup(const ir::Graph& graph, const ir::Node& root) : graph_(graph) { members_.push_back(root.id); }

  /// Returns the node of this type that computes `value` and adds it to the group, or null if there is none.
  const ir::Node* producer(ir::ValueId value, const char* op);
  /// Returns whether no other node reads the members' results, except for the root's output. `input` is the input of
  /// the new node.
  bool is_closed(ir::ValueId input) const;
  /// Removes the members added by a failed attempt: all after the first `count`.
  void keep_first(size_t count) { members_.resize(count); }
  /// Returns all members, the root first.
  const std::vector<ir::NodeId>& members() const { return members_; }
  const ir::Graph& graph() const { return graph_; }

 private:
  const ir::Graph& graph_;
  std::vector<ir::NodeId> members_;
};

/// Returns the operand of a binary node that is not `known`, or an invalid id if neither or both are.
ir::ValueId other_operand(const ir::Node& node, ir::ValueId known);
/// Returns the element of a constant of size 1.
std::optional<double> scalar(const ir::Graph& graph, ir::ValueId value);

/// Removes the members. `node` takes over the root's output, at the end of the list like in the reference.
void replace_group(ir::GraphPatch& patch, const MatchedGroup& group, ir::GraphPatch::PatchNode node);

// The operators of a decomposed Gelu (ref:rewrites#gelu).

constexpr int64_t kFirstGeluOpset = 20;  // First opset with the standard operator.

struct GeluGroup {
  MatchedGroup group;
  ir::ValueId x;
};

/// Matches 0.5 * (x * (1 + erf(x / sqrt(2)))) ending in `root`.
std::optional<GeluGroup> match_halved_gelu(const ir::Graph& graph, const ir::Node& root);

// The operators of a decomposed LayerNormalization (ref:rewrites#layer-normalization).

constexpr int64_t kFirstLayerNormOpset = 17;  // First opset with the standard operator.

struct LayerNormGroup {
  MatchedGroup group;
  ir::ValueId data, weight, bias;
  ir::NodeId scaling;  ///< The Mul by the weight.
  float epsilon = 0;

  /// Returns a LayerNormalization that replaces the group.
  ir::GraphPatch::PatchNode node(std::string name) const;
};

/// Matches (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis, ending in `root`.
std::optional<LayerNormGroup> match_layer_norm(const ir::Graph& graph, const ir::Node& root);

}  // namespace quarkq::rewrite
