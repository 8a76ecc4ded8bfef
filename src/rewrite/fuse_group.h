// SPDX-License-Identifier: MIT
// Helpers of the fusions of ref:rewrites#fusions: matching operands backwards, and putting one node in place
// of many.
#pragma once

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

}  // namespace quarkq::rewrite
