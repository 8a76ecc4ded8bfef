// SPDX-License-Identifier: MIT
// Searches without an index: graphs inside nodes, nodes by name, full names of operators, ranks. Each call searches
// again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// Returns the graphs in the node's attributes (bodies of If, Loop and Scan), in order, without deeper ones.
std::vector<const Graph*> nested_graphs(const Node& node);

/// Calls `change` with each graph of the attribute, to be replaced.
template <typename Change>
void change_nested(Attribute& attribute, const Change& change) {
  if (auto* one = std::get_if<GraphPtr>(&attribute.value); one != nullptr && *one != nullptr) change(*one);
  auto* list = std::get_if<std::vector<GraphPtr>>(&attribute.value);
  if (list == nullptr) return;
  for (GraphPtr& nested : *list) {
    if (nested != nullptr) change(nested);
  }
}

/// Returns the number of dimensions: of the stored tensor if no caller can replace it, otherwise of the type. Returns
/// nullopt if it is unknown.
std::optional<int64_t> rank_of(const Graph& graph, ValueId value);

/// Returns the operator with its domain, "com.amd.quark::BFPQuantizeDequantize"; without a domain for ai.onnx.
std::string full_op_name(const Node& node);

/// Returns the first node with this name in the graph's order, or an invalid id.
NodeId node_named(const Graph& graph, std::string_view name);

// Node orders. The order of a graph is data (ref:writing#node-order). Only sort_topologically() changes it.

/// Returns an order in which each node follows the nodes that it reads (inputs and captures): the list itself if it is
/// such an order, otherwise always the first ready node of the list. Fails on a cycle, naming a node on it. Not
/// recursive; O(n) for a valid list, otherwise O(n log n).
Result<std::vector<NodeId>> execution_order(const Graph& graph);

/// Sorts the graph's list as specified in ref:writing#node-order, which does not consider captures. If that order is
/// invalid, the list gets execution_order() and the function returns false. Fails on a cycle; the list does not change
/// then.
Result<bool> sort_topologically(Graph& graph);

}  // namespace quarkq::ir
