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

}  // namespace quarkq::ir
