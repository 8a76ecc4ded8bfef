// SPDX-License-Identifier: MIT
// Walks the nodes in order and lets the rule of each selected operator mark its tensors (spec 02 A.1 to A.3).
#include "passes/passes.h"
#include "plan/op_rules.h"

namespace quarkq::passes {

Result<Changed> mark_tensors(PassContext& context) {
  const ir::Graph& graph = context.graph();
  const plan::Flavor& flavor = plan::flavor_of(context.settings.quantizer);
  context.plan = plan::QuantPlan(graph.value_count());
  context.plan.dedicated_pairs = context.settings.dedicated_qdq_pair;
  context.plan.dedicated_uses.resize(graph.value_count());
  QQ_TRY(const plan::TensorFormats formats, plan::TensorFormats::make(context.settings, context.selection.overrides));
  plan::Marker marker(graph, context.model.opset(), context.settings, formats, context.plan, context.diagnostics);
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!context.selection.selects(node)) continue;
    plan::rule_for(node.op, flavor.registry)(marker, node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      context.plan.dedicated_uses[static_cast<size_t>(node.inputs[i].index)].push_back(
          {id, static_cast<int32_t>(i), false});
    }
  }
  for (const ir::ValueId value : context.absorbed) {
    plan::QuantSlot* slot = context.plan.find(value);
    if (slot == nullptr || slot->role != plan::Role::kActivation) continue;
    const bool stays = slot->stages[0].kind == plan::StageKind::kBlock && !context.settings.remove_fused_qdq;
    if (!stays) slot->state = plan::SlotState::kAbsorbed;
  }
  return context.plan.slots().empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::passes
