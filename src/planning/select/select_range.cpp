// SPDX-License-Identifier: MIT
// input_nodes and output_nodes: nodes before and after them stay float (ref:settings#input-and-output-nodes). By
// position in the sorted order (ref:writing#node-order), not by reachability, as the reference does.
#include <algorithm>

#include "ir/topo.h"
#include "planning/select/node_names.h"
#include "planning/select/selectors.h"

namespace quarkq::planning {
namespace {

/// A graph output means its producer in compat mode, too, and a graph input its readers.
std::vector<ir::NodeId> named_nodes(const pass::SelectContext& context, const std::string& name) {
  const ir::Graph& graph = context.graph();
  std::vector<ir::NodeId> nodes = nodes_meant(graph, name, context.settings);
  const bool is_named = !nodes.empty() && graph.node(nodes.front()).name == name;
  if (is_named) return {nodes.front()};
  if (!nodes.empty()) return nodes;
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
Result<std::vector<size_t>> positions_of(pass::SelectContext& context, const std::vector<ir::NodeId>& order,
                                         const std::vector<std::string>& names, const char* setting) {
  std::vector<size_t> positions;
  for (const std::string& name : names) {
    const std::vector<ir::NodeId> found = named_nodes(context, name);
    if (found.empty())
      QQ_RETURN_IF_ERROR(unknown_name(context.graph(), name, setting, context.settings, context.diagnostics));
    for (const ir::NodeId id : found) {
      positions.push_back(static_cast<size_t>(std::find(order.begin(), order.end(), id) - order.begin()));
    }
  }
  return positions;
}

}  // namespace

Status exclude_outside_range(pass::SelectContext& context, plan::NodeMarks& excluded) {
  const auto& asked = context.settings.selection;
  if (asked.input_nodes.empty() && asked.output_nodes.empty()) return Status();
  ir::Graph sorted = context.graph();
  QQ_RETURN_IF_ERROR(ir::sort_topologically(sorted).status());
  const std::vector<ir::NodeId>& order = sorted.order();
  QQ_TRY(const std::vector<size_t> first, positions_of(context, order, asked.input_nodes, "input_nodes"));
  QQ_TRY(const std::vector<size_t> last, positions_of(context, order, asked.output_nodes, "output_nodes"));
  const auto contains = [](const std::vector<size_t>& list, size_t position) {
    return std::find(list.begin(), list.end(), position) != list.end();
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const bool before = !first.empty() && i < *std::max_element(first.begin(), first.end()) && !contains(first, i);
    const bool after = !last.empty() && i > *std::min_element(last.begin(), last.end()) && !contains(last, i);
    if (before || after) excluded.add(context.graph().node(order[i]));
  }
  return Status();
}

}  // namespace quarkq::planning
