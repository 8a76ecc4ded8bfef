// SPDX-License-Identifier: MIT
#include <limits>

#include "ir/constants.h"
#include "ir/edit.h"
#include "plan/lowering/lower.h"
#include "planning/passes.h"

namespace quarkq::planning {

Result<Changed> order_as_written(pass::RestructureContext& context) {
  QQ_TRY(std::vector<ir::NodeId> order, plan::written_order(context.graph(), context.plan));
  if (order == context.graph().order()) return Changed::kNo;
  ir::GraphEdit(context.graph()).set_order(std::move(order));
  return Changed::kYes;
}

// Compat mode only: the reference takes beta into the scale of a Gemm's bias and then forgets it (ref:marking#biases,
// quirk FoldGemmBeta).

Result<Changed> reset_gemm_beta(pass::RestructureContext& context) {
  ir::GraphEdit edit(context.graph());
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : context.graph().order()) {
    const ir::Node& node = context.graph().node(id);
    if (!node.is("Gemm") || !context.selection.selects(node) || node.float_or("beta", 1.0f) == 1.0f) continue;
    if (!node.input(2).valid() || !context.graph().value(node.input(2)).is_initializer()) continue;
    edit.node(id).set("beta", 1.0f);
    changed = Changed::kYes;
  }
  return changed;
}

// Relu and Clip nodes that marking left to the quantized range of their output: the node before writes that output.
// Symmetric ranges do not clamp there; then the node stays (quirk FoldWhereRangesClamp), without a pair
// before it.

namespace {

/// Whether the range of the output clamps as the node does, to within a step. Limits that are computed are not known.
bool range_clamps(const pass::RestructureContext& context, const ir::Node& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const plan::QuantSlot* slot = context.plan.find(node.output(0));
  if (slot == nullptr) return false;
  const plan::ParamList& params = context.plan.params[slot->stage.params];
  if (params.size() != 1 || !is_integer(slot->stage.spec.type)) return false;
  const ir::Graph& graph = context.model.graph;
  const bool is_clip = node.is("Clip");
  const auto low = is_clip ? ir::number_of(graph, node, 1, "min", -kInfinity) : 0.0;
  const auto high = is_clip ? ir::number_of(graph, node, 2, "max", kInfinity) : kInfinity;
  if (!low || !high) return false;
  const numeric::Range held = numeric::representable_range(slot->stage.spec, params[0]);
  const auto step = static_cast<double>(params[0].scale);
  return static_cast<double>(held.min) >= *low - step && static_cast<double>(held.max) <= *high + step;
}

}  // namespace

Result<Changed> fold_removable(pass::RestructureContext& context) {
  const bool always = !context.settings.quirk(config::Quirk::kFoldWhereRangesClamp);
  ir::GraphEdit edit(context.graph());
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : context.plan.folded) {
    if (!context.graph().is_alive(id)) continue;  // it was folded before
    if (!always && !range_clamps(context, context.graph().node(id))) {
      context.diagnostics.add("not-folded", context.graph().label(id),
                              "not folded: the quantized range of its output does not reproduce the clamp");
      continue;
    }
    const ir::ValueId input = context.graph().node(id).input(0), output = context.graph().node(id).output(0);
    const ir::Node& producer = *context.graph().producer(input);
    const ir::NodeId above = producer.id;
    size_t index = 0;
    while (producer.outputs[index] != input) ++index;
    edit.remove_node(id);
    edit.set_output(above, index, output);
    edit.remove_value(input);
    changed = Changed::kYes;
  }
  return changed;
}

}  // namespace quarkq::planning
