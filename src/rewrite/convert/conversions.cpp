// SPDX-License-Identifier: MIT
#include "rewrite/convert/conversions.h"

#include <algorithm>

#include "ir/traversal.h"

namespace quarkq::rewrite {

namespace {

enum class Direction { kToInputs, kToOutputs };

std::vector<ir::NodeId> neighbours(const ir::Graph& graph, const ir::Node& node, Direction direction) {
  std::vector<ir::NodeId> found;
  if (direction == Direction::kToInputs) {
    for (const ir::ValueId input : node.inputs) {
      const ir::Node* producer = input.valid() ? graph.producer(input) : nullptr;
      if (producer != nullptr) found.push_back(producer->id);
    }
    return found;
  }
  for (const ir::ValueId output : node.outputs) {
    if (!output.valid()) continue;
    for (const ir::Use& use : graph.value(output).uses) found.push_back(use.node);
  }
  return found;
}

/// Returns the nodes reachable from the named nodes, including these; every node if the list is empty.
Result<std::vector<bool>> reached(const ir::Graph& graph, const std::string& list, Direction direction) {
  QQ_TRY(const std::vector<std::string> names, pass::list_parts(list));
  std::vector<bool> is_reached(graph.node_count(), names.empty());
  std::vector<ir::NodeId> open;
  for (const std::string& name : names) {
    open.push_back(ir::node_named(graph, name));
    if (!open.back().valid()) return invalid_argument("option subgraphs: no node is named ", name);
  }
  while (!open.empty()) {
    const ir::NodeId id = open.back();
    open.pop_back();
    if (is_reached[static_cast<size_t>(id.index)]) continue;
    is_reached[static_cast<size_t>(id.index)] = true;
    for (const ir::NodeId next : neighbours(graph, graph.node(id), direction)) open.push_back(next);
  }
  return is_reached;
}

}  // namespace

Result<std::vector<bool>> chosen_nodes(const ir::Graph& graph, const pass::ConversionOptions& options) {
  QQ_TRY(const std::vector<std::string> subgraphs, options.list("subgraphs"));
  std::vector<bool> chosen(graph.node_count(), subgraphs.empty());
  for (const std::string& text : subgraphs) {
    QQ_TRY(const std::vector<std::string> ends, pass::list_parts(text));
    if (ends.size() != 2)
      return invalid_argument("option subgraphs: found ", text, ", allowed is [[[start, ...], [end, ...]], ...]");
    QQ_TRY(const std::vector<bool> after, reached(graph, ends[0], Direction::kToOutputs));
    QQ_TRY(const std::vector<bool> before, reached(graph, ends[1], Direction::kToInputs));
    bool is_empty = true;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (!after[i] || !before[i]) continue;
      chosen[i] = true;
      is_empty = false;
    }
    if (is_empty) return invalid_argument("option subgraphs: found no node between ", ends[0], " and ", ends[1]);
  }
  return chosen;
}

}  // namespace quarkq::rewrite
