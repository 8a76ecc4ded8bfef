// SPDX-License-Identifier: MIT
#include "ir/traversal.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "ir/edit.h"

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

namespace {

size_t at(NodeId id) { return static_cast<size_t>(id.index); }

/// Calls `visit(producer)` for each link of `node` to a node it reads from, links in order, with multiplicity.
template <typename Visit>
void for_each_dependency(const Graph& graph, const Node& node, Visit visit) {
  auto link = [&](ValueId value) {
    if (value.valid() && graph.value(value).producer.valid()) visit(graph.value(value).producer);
  };
  for (const ValueId input : node.inputs) link(input);
  for (const Capture& capture : node.captures) link(capture.outer);
}

bool is_valid_order(const Graph& graph, const std::vector<NodeId>& order) {
  if (order.size() != graph.order().size()) return false;
  std::vector<bool> done(graph.node_count(), false);
  for (const NodeId id : order) {
    bool ready = true;
    for_each_dependency(graph, graph.node(id), [&](NodeId producer) { ready = ready && done[at(producer)]; });
    if (!ready) return false;
    done[at(id)] = true;
  }
  return true;
}

/// Walks back from a node that never became ready until a node comes up again: that one is on the cycle.
NodeId node_on_cycle(const Graph& graph, const std::vector<int64_t>& missing) {
  NodeId walk;
  for (const NodeId id : graph.order()) {
    if (missing[at(id)] > 0) walk = id;
  }
  std::vector<bool> seen(graph.node_count(), false);
  while (!seen[at(walk)]) {
    seen[at(walk)] = true;
    NodeId next = walk;
    for_each_dependency(graph, graph.node(walk), [&](NodeId producer) {
      if (missing[at(producer)] > 0) next = producer;
    });
    walk = next;
  }
  return walk;
}

/// For each value the nodes that read it as an input, in list order and once per occurrence.
std::vector<std::vector<NodeId>> consumers_in_list_order(const Graph& graph) {
  std::vector<std::vector<NodeId>> consumers(graph.value_count());
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) {
      if (input.valid()) consumers[static_cast<size_t>(input.index)].push_back(id);
    }
  }
  return consumers;
}

/// ref:writing#node-order. The result lacks nodes that wait for values from outside of the graph.
std::vector<NodeId> reference_order(const Graph& graph) {
  const auto consumers = consumers_in_list_order(graph);
  std::vector<int64_t> missing(graph.node_count(), 0);
  std::vector<NodeId> order;
  for (const NodeId id : graph.order()) {
    const auto& inputs = graph.node(id).inputs;
    missing[at(id)] = std::count_if(inputs.begin(), inputs.end(), [](ValueId input) { return input.valid(); });
    if (missing[at(id)] == 0) order.push_back(id);
  }
  auto release = [&](ValueId value) {
    for (const NodeId reader : consumers[static_cast<size_t>(value.index)]) {
      if (--missing[at(reader)] == 0) order.push_back(reader);
    }
  };
  std::vector<ValueId> given = graph.inputs();
  for (const ValueId initializer : graph.initializers()) {
    if (!graph.value(initializer).is_input) given.push_back(initializer);
  }
  std::sort(given.begin(), given.end(),
            [&](ValueId a, ValueId b) { return graph.value(a).name < graph.value(b).name; });
  for (const ValueId value : given) release(value);
  for (size_t next = 0; next < order.size(); ++next) {
    for (const ValueId output : graph.node(order[next]).outputs) {
      if (output.valid()) release(output);
    }
  }
  return order;
}

}  // namespace

Result<std::vector<NodeId>> execution_order(const Graph& graph) {
  if (is_valid_order(graph, graph.order())) return graph.order();
  std::vector<int64_t> missing(graph.node_count(), 0), place(graph.node_count(), 0);
  std::vector<std::vector<NodeId>> readers(graph.node_count());
  for (size_t i = 0; i < graph.order().size(); ++i) {
    const NodeId id = graph.order()[i];
    place[at(id)] = static_cast<int64_t>(i);
    for_each_dependency(graph, graph.node(id), [&](NodeId producer) {
      ++missing[at(id)];
      readers[at(producer)].push_back(id);
    });
  }
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ready;
  for (const NodeId id : graph.order()) {
    if (missing[at(id)] == 0) ready.push(place[at(id)]);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = graph.order()[static_cast<size_t>(ready.top())];
    ready.pop();
    order.push_back(id);
    for (const NodeId reader : readers[at(id)]) {
      if (--missing[at(reader)] == 0) ready.push(place[at(reader)]);
    }
  }
  if (order.size() == graph.order().size()) return order;
  return corrupt_model(graph.label(node_on_cycle(graph, missing)), ": is part of a cycle");
}

Result<bool> sort_topologically(Graph& graph) {
  std::vector<NodeId> order = reference_order(graph);
  const bool valid = is_valid_order(graph, order);
  if (!valid) {
    QQ_TRY(order, execution_order(graph));
  }
  GraphEdit(graph).set_order(std::move(order));
  return valid;
}

}  // namespace quarkq::ir
