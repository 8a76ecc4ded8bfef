// SPDX-License-Identifier: MIT
// Types of a node's outputs, inferred from the types of its inputs and the known small integer tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewrite/simplify/scope.h"

namespace quarkq::rewrite::simplify {

// Small integer tensors of a graph as lists of terms: the values of shape computations before the model runs.

/// Elements of a tensor of rank 0 or 1.
struct TrackedValue {
  bool is_scalar = false;
  std::vector<MaybeTerm> elements;
};

class TrackedValues {
 public:
  explicit TrackedValues(const Scope& scope) : scope_(scope), values_(scope.graph.value_count()) {}

  /// Computes the value of the node's output from the values of its inputs. Call it for nodes in execution order.
  void visit(const ir::Node& node);
  /// Returns the tracked or constant content of `value`, or nullopt.
  std::optional<TrackedValue> find(ir::ValueId value) const;

 private:
  const Scope& scope_;
  std::vector<std::optional<TrackedValue>> values_;
};

/// Returns whether shape inference invented the name for an unknown dimension.
bool is_invented(const std::string& symbol);

/// Fills gaps in the types of the node's outputs with the library's inference for this node alone. Invented names would
/// be ambiguous in the whole graph, so only names of the inputs are used. Returns true if a type improved.
Result<bool> infer_node(const ir::Model& model, Scope& scope, ir::NodeId id);

/// Infers the output type of a Reshape, Expand or ConstantOfShape whose shape operand is tracked. Returns true if a
/// type improved.
bool infer_by_values(Scope& scope, const TrackedValues& tracked, ir::NodeId id);

}  // namespace quarkq::rewrite::simplify
