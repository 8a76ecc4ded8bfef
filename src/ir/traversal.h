// SPDX-License-Identifier: MIT
// What a graph keeps no index of: graphs inside of its nodes, nodes by name, full names of operators, ranks. Each call
// searches again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// The graphs that the node's attributes hold (bodies of If, Loop and Scan), in their order; not those inside of them.
std::vector<const Graph*> nested_graphs(const Node& node);

/// Calls `change` with each graph that the attribute holds, to be replaced.
template <typename Change>
void change_nested(Attribute& attribute, const Change& change) {
  if (auto* one = std::get_if<GraphPtr>(&attribute.value); one != nullptr && *one != nullptr) change(*one);
  auto* list = std::get_if<std::vector<GraphPtr>>(&attribute.value);
  if (list == nullptr) return;
  for (GraphPtr& nested : *list) {
    if (nested != nullptr) change(nested);
  }
}

/// Number of dimensions: of the stored tensor that no caller can replace, else what the type says; nothing when that
/// says nothing.
std::optional<int64_t> rank_of(const Graph& graph, ValueId value);

/// Operator with its domain, "com.amd.quark::BFPQuantizeDequantize"; without it for ai.onnx.
std::string full_op_name(const Node& node);

/// The first node of this name in the graph's order; an invalid id when none has it.
NodeId node_named(const Graph& graph, std::string_view name);

// Node orders. The order of a graph is data (ref:writing#node-order), so only sort_topologically() changes it.

/// The nodes so that each comes after what it reads (inputs and captures): the list itself when it is such an order,
/// else always the first node of the list that is ready. Fails on a cycle, naming a node on it. No recursion;
/// O(n) for a valid list, else O(n log n).
Result<std::vector<NodeId>> execution_order(const Graph& graph);

/// Brings the graph's list into the order of ref:writing#node-order, which knows nothing of captures. Where that is
/// no valid order, the list gets execution_order() instead and the answer is false. Fails on a cycle; the list
/// stays then.
Result<bool> sort_topologically(Graph& graph);

}  // namespace quarkq::ir
