// SPDX-License-Identifier: MIT
// EnableDualQuantNodePairs (ref:marking#second-stages): a node that settings of its own touch sees one format on all
// its activations.
#include <algorithm>
#include <set>

#include "config/tensor_overrides.h"
#include "planning/mark/dual_pairs.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

/// The nodes that layer configs choose, those named, and, beside layer configs, the readers of tensors that the user
/// gave settings (ref:settings#layer-settings).
std::set<ir::NodeId> special_nodes(const pass::PlanContext& context) {
  const ir::Graph& graph = context.model.graph;
  const config::Settings& settings = context.settings;
  const auto& names = settings.algorithms.nodes_with_mixed_precision;
  std::set<ir::NodeId> nodes;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    bool is_special =
        context.selection.layered.contains(node) || std::find(names.begin(), names.end(), node.name) != names.end();
    for (const ir::ValueId input : node.inputs) {
      if (settings.mode != config::QuantConfig::Mode::kLayers || !input.valid()) continue;
      const ir::Value& value = graph.value(input);
      is_special |= !value.is_initializer() && config::has_tensor_override(settings, value.name);
    }
    if (is_special) nodes.insert(id);
  }
  return nodes;
}

}  // namespace

Result<Changed> plan_dual_pairs(pass::PlanContext& context) {
  const std::set<ir::NodeId> nodes = special_nodes(context);
  DualPairRules rules;
  rules.is_special = [&](ir::ValueId value) { return context.selection.overrides.contains(value); };
  rules.is_special_node = [&](const ir::Node& node) { return nodes.empty() || nodes.contains(node.id); };
  rules.counts_absorbed = true;
  context.plan.extras.clear();
  find_extra_stages(context, rules);
  return context.plan.extras.empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning
