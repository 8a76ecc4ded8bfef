// SPDX-License-Identifier: MIT
// Groups of nodes that automatic mixed precision promotes together (ref:mixed-precision#options).
#include <deque>
#include <set>

#include "config/mixed_settings.h"
#include "planning/select/node_names.h"
#include "planning/select/selectors.h"

namespace quarkq::planning {
namespace {

using config::NodeGroup;

/// The nodes that any of the names means; an unknown one is an error.
Result<std::set<ir::NodeId>> nodes_of(const pass::SelectContext& context, const std::vector<std::string>& names,
                                      const std::string& what) {
  std::set<ir::NodeId> found;
  for (const std::string& name : names) {
    const std::vector<ir::NodeId> meant = nodes_meant(context.graph(), name, context.settings);
    if (meant.empty())
      QQ_RETURN_IF_ERROR(unknown_name(context.graph(), name, what, context.settings, context.diagnostics));
    found.insert(meant.begin(), meant.end());
  }
  return found;
}

/// Every node that the walk from the starts over outputs reaches; it ends at the ends.
Result<std::set<ir::NodeId>> walk(const pass::SelectContext& context, const NodeGroup& group) {
  const ir::Graph& graph = context.graph();
  const std::string what = "SubgraphJson: subgraph " + group.name;
  QQ_TRY(const std::set<ir::NodeId> ends, nodes_of(context, group.ends, what));
  QQ_TRY(const std::set<ir::NodeId> starts, nodes_of(context, group.starts, what));
  std::set<ir::NodeId> reached;
  std::deque<ir::NodeId> open(starts.begin(), starts.end());
  while (!open.empty()) {
    const ir::NodeId id = open.front();
    open.pop_front();
    if (!reached.insert(id).second || ends.contains(id)) continue;
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) {
        if (!use.is_capture) open.push_back(use.node);
      }
    }
  }
  reached.insert(ends.begin(), ends.end());
  return reached;
}

}  // namespace

Status mark_groups(pass::SelectContext& context, bool by_name) {
  if (!context.settings.algorithms.include_auto_mp) return Status();
  QQ_TRY(const std::optional<config::MixedSettings> options, config::read_mixed_settings(context.settings));
  if (!options || options->subgraph_file.empty()) return Status();
  QQ_TRY(const std::vector<NodeGroup> groups, config::load_subgraphs(options->subgraph_file));
  const ir::Graph& graph = context.graph();
  std::set<ir::NodeId> taken;
  for (const NodeGroup& group : groups) {
    QQ_TRY(const std::set<ir::NodeId> reached, walk(context, group));
    plan::PromotionGroup marked{group.name, plan::NodeMarks(graph, by_name)};
    for (const ir::NodeId id : reached) {
      if (taken.insert(id).second) marked.nodes.add(graph.node(id));
    }
    context.selection.promotion_groups.push_back(std::move(marked));
  }
  return Status();
}

}  // namespace quarkq::planning
