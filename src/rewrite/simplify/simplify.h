// SPDX-License-Identifier: MIT
// Simplification of the float model, equivalent to the reference's tool (ref:rewrites#simplifier). Only
// simplify_model() is called from outside this folder. The steps below are its parts, one file per topic, in the order
// of a round.
#pragma once

#include "pass/context.h"
#include "rewrite/simplify/scope.h"

namespace quarkq::rewrite {

/// Runs rounds of sorting, folding, fusing and merging until a round does not change the list of nodes. A failure
/// leaves the model unchanged and becomes the notice "simplify-failed".
Result<Changed> simplify_model(pass::FloatContext& context);

namespace simplify {

/// Fixes dimensions of graph inputs according to the options.
Status set_input_shapes(ir::Model& model, const Options& options);

/// Removes nodes without a read output, then initializers without readers; then sorts by level.
Status clean_up(Scope& scope);
/// Stable sort by level: 0 if a node reads no value computed in this graph, otherwise one more than its highest
/// producer.
Status sort_by_level(Scope& scope);

/// Converts Constant nodes, nodes with known inputs and shapes with known dimensions to initializers. Replaces an If
/// with a known condition by its branch.
Status fold_constants(Scope& scope);
/// Runs one sweep of the table of fusion patterns.
Status fuse_patterns(Scope& scope);
/// Removes nodes that only pass on their input, and updates shapes of Reshape that are known now.
Status remove_no_ops(Scope& scope);
/// Merges nodes of one operator that compute the same result.
Status merge_equal_nodes(Scope& scope);
/// Merges small initializers with equal content.
Status merge_equal_constants(Scope& scope);
/// Infers shapes from small integer tensors of products of named dimensions.
Status infer_values(ir::Model& model, Scope& scope, Diagnostics& diagnostics);

/// How shapes are inferred before the first round and between rounds.
struct ShapeInference {
  Status (*before_rounds)(ir::Model& model, Diagnostics& diagnostics);
  Status (*after_round)(ir::Model& model, Scope& scope, Diagnostics& diagnostics);
};
/// Uses infer_values() with all known values.
extern const ShapeInference kInferByValues;
/// Equivalent to the reference (ref:rewrites#simplifier): less is known before the first round, and inference stops at
/// the first operator that the reference's inference does not support.
extern const ShapeInference kInferAsReference;

/// Runs a step in the nested graphs of all nodes, outermost first.
Status for_each_nested(Scope& scope, Status (*step)(Scope&));

/// Replaces the node by the nodes of its branch when it is an If with a known condition. Their tensors get names ending
/// in the node's position and the name of the branch.
bool flatten_if(Scope& scope, ir::NodeId id, size_t position);

}  // namespace simplify
}  // namespace quarkq::rewrite
