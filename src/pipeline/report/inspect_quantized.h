// SPDX-License-Identifier: MIT
// Quantized tensors of a written model, determined only from its nodes, regardless of the program that wrote it.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quarkq/inspect.h"

namespace quarkq::pipeline {

/// Returns the quantized tensors of the main graph.
std::vector<QuantizedTensor> list_quantized(const ir::Graph& graph);
/// Returns their groups, by kind, type and block.
std::vector<QuantizedGroup> group_quantized(const std::vector<QuantizedTensor>& tensors);

/// Returns every node of the main graph that does not quantize, in node order, with its inputs and outputs.
std::vector<NodeFormats> node_formats(const ir::Graph& graph);

/// Returns the nodes of the main graph whose first or second input comes from a quantizing node, in node order. The
/// second and third input are set for operators whose weights and biases these are, stored or computed.
std::vector<NodeTypes> node_types(const ir::Graph& graph);

/// Returns the types counted per operator, in the order of first use.
std::vector<OperatorTypes> types_by_operator(const std::vector<NodeTypes>& nodes);

}  // namespace quarkq::pipeline
