// SPDX-License-Identifier: MIT
// input_nodes and output_nodes: what lies before and behind them in node order stays float (spec 01 E.1 step 21). By
// position, not by reachability, as the reference does.
#include <algorithm>

#include "planning/select/selectors.h"

namespace quarkq::planning {
namespace {

/// The nodes that `name` means: a node, the readers of a graph input, or the producer of a graph output.
std::vector<ir::NodeId> named_nodes(const ir::Graph& graph, const std::string& name) {
  for (const ir::NodeId id : graph.order()) {
    if (graph.node(id).name == name) return {id};
  }
  std::vector<ir::NodeId> nodes;
  const ir::ValueId value = graph.find(name);
  if (!value.valid()) return nodes;
  if (graph.value(value).is_input) {
    for (const ir::Use& use : graph.value(value).uses) nodes.push_back(use.node);
  } else if (graph.value(value).is_output && graph.value(value).producer.valid()) {
    nodes.push_back(graph.value(value).producer);
  }
  return nodes;
}

/// Positions in node order of all that `names` mean.
std::vector<size_t> positions_of(pass::SelectContext& context, const std::vector<std::string>& names,
                                 const char* setting) {
  const auto& order = context.graph().order();
  std::vector<size_t> positions;
  for (const std::string& name : names) {
    const std::vector<ir::NodeId> found = named_nodes(context.graph(), name);
    if (found.empty()) {
      context.diagnostics.warn("node-unknown", name,
                               cat(setting, ": no node, graph input or graph output has this name"));
    }
    for (const ir::NodeId id : found) {
      positions.push_back(static_cast<size_t>(std::find(order.begin(), order.end(), id) - order.begin()));
    }
  }
  return positions;
}

}  // namespace

void exclude_outside_range(pass::SelectContext& context, plan::NodeMarks& excluded) {
  const std::vector<size_t> first = positions_of(context, context.settings.input_nodes, "input_nodes");
  const std::vector<size_t> last = positions_of(context, context.settings.output_nodes, "output_nodes");
  const auto& order = context.graph().order();
  const auto contains = [](const std::vector<size_t>& list, size_t position) {
    return std::find(list.begin(), list.end(), position) != list.end();
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const bool before = !first.empty() && i < *std::max_element(first.begin(), first.end()) && !contains(first, i);
    const bool behind = !last.empty() && i > *std::min_element(last.begin(), last.end()) && !contains(last, i);
    if (before || behind) excluded.add(context.graph().node(order[i]));
  }
}

}  // namespace quarkq::planning
