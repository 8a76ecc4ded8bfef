// SPDX-License-Identifier: MIT
// Which types nodes read: the reference's tables of a quantized model (ref:evaluation#tables).
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quarkq/inspect.h"

namespace quarkq::pipeline {

/// Nodes of the main graph whose first or second input comes from a quantizing node, in node order. The second and
/// third input are given for operators that have weights and biases there, whether they are stored or computed.
std::vector<NodeTypes> node_types(const ir::Graph& graph);

/// The same counted by operator, in first-seen order.
std::vector<OperatorTypes> types_by_operator(const std::vector<NodeTypes>& nodes);

}  // namespace quarkq::pipeline
