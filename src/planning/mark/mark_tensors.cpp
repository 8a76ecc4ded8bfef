// SPDX-License-Identifier: MIT
// Walks the nodes in order and lets the rule of each selected operator mark its tensors (ref:marking#visited-nodes,
// ref:marking#op-rules).
#include <algorithm>

#include "plan/op_rules.h"
#include "planning/mark/check_overrides.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

void record_refusal(const ir::Node& node, plan::DecisionKind why_not, plan::QuantPlan& plan) {
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const ir::ValueId value : *values) {
      if (value.valid()) plan.decisions.push_back({value, why_not, node.id});
    }
  }
}

/// Values that only these nodes read have no pair. A Relu before such a node is not folded into a range that is not
/// written.
void read_floats(const pass::PlanContext& context) {
  plan::QuantPlan& plan = context.plan;
  plan.float_readers = context.selection.reads_float;
  for (const ir::NodeId id : plan.float_readers) {
    for (const ir::ValueId input : context.graph().node(id).inputs) {
      if (!input.valid() || context.graph().value(input).is_initializer()) continue;
      const ir::Value& value = context.graph().value(input);
      std::erase(plan.folded, value.producer);
      const bool has_others = value.is_output || std::ranges::any_of(value.uses, [&](const ir::Use& use) {
                                return use.is_capture || !plan.float_readers.contains(use.node);
                              });
      if (!has_others && plan.has(input)) plan.remove(input);
    }
  }
}

}  // namespace

Result<Changed> mark_tensors(pass::PlanContext& context) {
  const ir::Graph& graph = context.graph();
  const config::Registry registry = context.settings.traits().registry;
  context.plan = plan::QuantPlan(graph.value_count());
  context.plan.operators = plan::QdqOperators(context.settings, context.model.opset());
  context.plan.dedicated_pairs = context.settings.qdq.dedicated_qdq_pair;
  context.plan.pair_per_input = context.settings.quirk(config::Quirk::kPairPerInput);
  context.plan.dedicated_uses.resize(graph.value_count());
  QQ_TRY(const plan::TensorFormats formats, plan::TensorFormats::make(context.settings, context.selection.overrides));
  plan::Marker marker(context.model, context.settings, formats, context.plan, context.diagnostics);
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (const auto why_not = context.selection.refusal(node)) {
      record_refusal(node, *why_not, context.plan);
      continue;
    }
    marker.begin(node);
    plan::rule_for(node.op, registry)(marker, node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      context.plan.dedicated_uses[static_cast<size_t>(node.inputs[i].index)].push_back(
          {id, static_cast<int32_t>(i), false});
    }
  }
  read_floats(context);
  QQ_RETURN_IF_ERROR(check_overrides(context));
  return context.plan.slots().empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning
