// SPDX-License-Identifier: MIT
// Types of the outputs of one node, from the types of its inputs and what is known of small integer tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewrite/simplify/scope.h"

namespace quarkq::rewrite::simplify {

// Small integer tensors of a graph as lists of terms: what shape computations hold before the model runs.

/// Elements of a tensor of rank 0 or 1.
struct TrackedValue {
  bool is_scalar = false;
  std::vector<MaybeTerm> elements;
};

class TrackedValues {
 public:
  explicit TrackedValues(const Scope& scope) : scope_(scope), values_(scope.graph.value_count()) {}

  /// Computes what the node's output holds from what its inputs hold. Nodes come in execution order.
  void visit(const ir::Node& node);
  /// What `value` holds; constants included. Nothing when it is not tracked.
  std::optional<TrackedValue> find(ir::ValueId value) const;

 private:
  const Scope& scope_;
  std::vector<std::optional<TrackedValue>> values_;
};

/// Names that shape inference gives to dimensions it knows nothing about.
bool is_invented(const std::string& symbol);

/// Fills gaps in the types of the node's outputs by what the library infers for it alone. Names that it invents would
/// mean something else in the whole graph, so only those of the inputs are taken over. True when a type got better.
Result<bool> infer_node(const ir::Model& model, Scope& scope, ir::NodeId id);

/// The same for the output of a Reshape, Expand or ConstantOfShape whose shape operand is tracked.
bool infer_by_values(Scope& scope, const TrackedValues& tracked, ir::NodeId id);

}  // namespace quarkq::rewrite::simplify
