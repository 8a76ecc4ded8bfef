// SPDX-License-Identifier: MIT
#include "ir/search.h"

namespace quarkq::ir {

std::vector<const Graph*> nested_graphs(const Node& node) {
  std::vector<const Graph*> graphs;
  const auto add = [&](const GraphPtr& graph) {
    if (graph != nullptr) graphs.push_back(graph.get());
  };
  for (const Attribute& attribute : node.attributes) {
    if (const auto* one = std::get_if<GraphPtr>(&attribute.value)) add(*one);
    if (const auto* list = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
      for (const GraphPtr& graph : *list) add(graph);
    }
  }
  return graphs;
}

std::optional<int64_t> rank_of(const Graph& graph, ValueId id) {
  if (!id.valid()) return std::nullopt;
  const Value& value = graph.value(id);
  if (value.constant && !value.is_input) return value.constant->rank();
  return value.type.has_shape ? std::optional(static_cast<int64_t>(value.type.dims.size())) : std::nullopt;
}

NodeId node_named(const Graph& graph, std::string_view name) {
  for (const NodeId id : graph.order()) {
    if (graph.node(id).name == name) return id;
  }
  return {};
}

std::string full_op_name(const Node& node) { return node.domain.empty() ? node.op : node.domain + "::" + node.op; }

}  // namespace quarkq::ir
