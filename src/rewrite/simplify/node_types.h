// SPDX-License-Identifier: MIT
// Types of the outputs of one node, from the types of its inputs and what is known of small integer tensors.
#pragma once

#include <string>

#include "rewrite/simplify/scope.h"
#include "rewrite/simplify/tracked_values.h"

namespace quarkq::rewrite::simplify {

/// Names that shape inference gives to dimensions it knows nothing about.
bool is_invented(const std::string& symbol);

/// Fills gaps in the types of the node's outputs by what the library infers for it alone. Names that it invents would
/// mean something else in the whole graph, so only those of the inputs are taken over. True when a type got better.
Result<bool> infer_node(const ir::Model& model, Scope& scope, ir::NodeId id);

/// The same for the output of a Reshape, Expand or ConstantOfShape whose shape operand is tracked.
bool infer_by_values(Scope& scope, const TrackedValues& tracked, ir::NodeId id);

}  // namespace quarkq::rewrite::simplify
