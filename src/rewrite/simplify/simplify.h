// SPDX-License-Identifier: MIT
// Simplification of the float model as the reference's tool does it (ref:rewrites#simplifier). Only simplify_model() is
// called from outside this folder; the steps below are its parts, one file per topic, in the order in which a round
// runs them.
#pragma once

#include "pass/context.h"
#include "rewrite/simplify/scope.h"

namespace quarkq::rewrite {

/// Rounds of sorting, folding, fusing and merging until a round leaves the list of nodes as it was. A failure leaves
/// the model unchanged and becomes the notice "simplify-failed".
Result<Changed> simplify_model(pass::FloatContext& context);

namespace simplify {

/// Fixes dimensions of graph inputs as the options ask.
Status set_input_shapes(ir::Model& model, const Options& options);

/// Nodes without a read output go, then initializers without readers; then the level order.
Status clean_up(Scope& scope);
/// Stable by level: 0 reads nothing made in this graph, else one more than the highest producer.
Status sort_by_level(Scope& scope);

/// Constant nodes, nodes with known inputs and shapes with known dimensions become initializers; an If with a known
/// condition is replaced by its branch.
Status fold_constants(Scope& scope);
/// One sweep of the table of fusion patterns.
Status fuse_patterns(Scope& scope);
/// Nodes that pass their input on; shapes of Reshape that are known now.
Status remove_no_ops(Scope& scope);
/// Nodes of one operator that compute the same.
Status merge_equal_nodes(Scope& scope);
/// Small initializers with equal content.
Status merge_equal_constants(Scope& scope);
/// Shapes that follow from small integer tensors holding products of named dimensions.
Status infer_values(ir::Model& model, Scope& scope, Diagnostics& diagnostics);

/// How shapes are found before the first round and between rounds.
struct ShapeInference {
  Status (*before_rounds)(ir::Model& model, Diagnostics& diagnostics);
  Status (*after_round)(ir::Model& model, Scope& scope, Diagnostics& diagnostics);
};
/// As infer_values() does, with what is known beforehand.
extern const ShapeInference kInferByValues;
/// As the reference does (ref:rewrites#simplifier): less is known before the first round, and a graph with an operator
/// that its inference has no rule for is followed up to that operator only.
extern const ShapeInference kInferAsReference;

/// Runs a step in the nested graphs of all nodes, outermost first.
Status for_each_nested(Scope& scope, Status (*step)(Scope&));

/// Replaces the node by the nodes of its branch when it is an If with a known condition. Their tensors get names ending
/// in the node's position and the name of the branch.
bool flatten_if(Scope& scope, ir::NodeId id, size_t position);

}  // namespace simplify
}  // namespace quarkq::rewrite
