// SPDX-License-Identifier: MIT
// Helpers of the fusions of ref:rewrites#fusions: matching operands backwards, and putting one node in place
// of many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/patch.h"
#include "pass/context.h"

namespace quarkq::rewrite {

/// Nodes of one pattern while it is matched. A step that fails leaves the group failed; later steps then fail, too.
class MatchedGroup {
 public:
  MatchedGroup(const ir::Graph& graph, const ir::Node& root) : graph_(graph) { members_.push_back(root.id); }

  /// The node of this type that makes `value`, now a member; null when there is none.
  const ir::Node* producer(ir::ValueId value, const char* op);
  /// True when nothing outside reads what the members make, the root's output aside. `input` is what the new node
  /// reads.
  bool is_closed(ir::ValueId input) const;
  /// Forgets the members that a failed attempt added: all but the first `count`.
  void keep_first(size_t count) { members_.resize(count); }
  /// All members, the root first.
  const std::vector<ir::NodeId>& members() const { return members_; }
  const ir::Graph& graph() const { return graph_; }

 private:
  const ir::Graph& graph_;
  std::vector<ir::NodeId> members_;
};

/// The operand of a binary node that is not `known`; invalid when neither or both are.
ir::ValueId other_operand(const ir::Node& node, ir::ValueId known);
/// The one element of a constant of size 1.
std::optional<double> scalar(const ir::Graph& graph, ir::ValueId value);

/// Removes the members; `node` takes over the root's output, at the end of the list as in the reference.
void replace_group(ir::GraphPatch& patch, const MatchedGroup& group, ir::GraphPatch::PatchNode node);

// The operators that a spelled-out Gelu is made of (ref:rewrites#gelu).

constexpr int64_t kFirstGeluOpset = 20;  // of the standard operator

struct GeluGroup {
  MatchedGroup group;
  ir::ValueId x;
};

/// 0.5 * (x * (1 + erf(x / sqrt(2)))), which ends in `root`.
std::optional<GeluGroup> match_halved_gelu(const ir::Graph& graph, const ir::Node& root);

// The operators that a spelled-out LayerNormalization is made of (ref:rewrites#layer-normalization).

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
