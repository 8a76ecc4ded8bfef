// SPDX-License-Identifier: MIT
// Small integer tensors of a graph as lists of terms: what shape computations hold before the model runs.
#pragma once

#include <optional>
#include <vector>

#include "rewrite/simplify/scope.h"
#include "rewrite/simplify/term.h"

namespace quarkq::rewrite::simplify {

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

}  // namespace quarkq::rewrite::simplify
