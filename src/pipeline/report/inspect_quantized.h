// SPDX-License-Identifier: MIT
// Quantized tensors of a written model, determined from its nodes alone, whichever program wrote it.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quarkq/inspect.h"

namespace quarkq::pipeline {

/// Quantized tensors of the main graph.
std::vector<QuantizedTensor> list_quantized(const ir::Graph& graph);
/// Their groups, by kind and type.
std::vector<QuantizedGroup> group_quantized(const std::vector<QuantizedTensor>& tensors);

/// Every node of the main graph that does not quantize, in node order, with what it reads and writes.
std::vector<NodeFormats> node_formats(const ir::Graph& graph);

// Which types nodes read: the reference's tables of a quantized model (ref:evaluation#tables).

/// Nodes of the main graph whose first or second input comes from a quantizing node, in node order. The second and
/// third input are given for operators that have weights and biases there, whether they are stored or computed.
std::vector<NodeTypes> node_types(const ir::Graph& graph);

/// The same counted by operator, in first-seen order.
std::vector<OperatorTypes> types_by_operator(const std::vector<NodeTypes>& nodes);

}  // namespace quarkq::pipeline
