// SPDX-License-Identifier: MIT
// The scale of an int32 bias is the product of its node's scales; where one is missing, or those of the weight do not
// fit the bias, the bias stays float. (The reference gives up there.) It also stays float where the input has more than
// 16 bits: int32 cannot count to a bias in products of such steps, and to widen the weight's scale would leave nothing
// of the weights. Weights of 32 bits alone have bits to spare for that; ONNX Runtime quantizes a float bias beside them
// by itself, and overflows.
#include <set>

#include "plan/bias_scales.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

bool is_too_fine(const pass::PlanContext& context, ir::ValueId value) {
  constexpr int kMostBits = 16;
  const ElementType type = context.plan.slot(value).stage.spec.type;
  return context.settings.guards() && is_integer(type) && bits(type) > kMostBits;
}

void report_misfit(pass::PlanContext& context, const plan::QuantSlot& bias) {
  const ir::Graph& graph = context.graph();
  const ir::Value &own = graph.value(bias.value), &weight = graph.value(bias.bias->weight);
  const int64_t axis = context.plan.slot(weight.id).stage.spec.axis;
  context.diagnostics.add(
      "bias-without-scale", own.name,
      cat("is the bias of ", graph.label(bias.bias->node), ", shape ", shape_text(own.constant->dims()),
          ", and the scales of ", weight.name, ", one for each of ", weight.constant->dims()[static_cast<size_t>(axis)],
          " along axis ", axis, ", do not fit it; the bias stays float"));
}

}  // namespace

Result<Changed> release_biases(pass::PlanContext& context) {
  std::set<ir::ValueId> released;
  for (const plan::QuantSlot& slot : context.plan.slots()) {
    if (slot.role != plan::Role::kBias) continue;
    const bool has_scales = context.plan.has(slot.bias->input) && context.plan.has(slot.bias->weight);
    const bool fits = !has_scales || plan::has_fitting_weight(context.graph(), context.plan, slot);
    if (has_scales && fits && !is_too_fine(context, slot.bias->input)) continue;
    context.plan.decisions.push_back({slot.value, plan::DecisionKind::kBiasWithoutScale, slot.bias->node});
    released.insert(slot.value);
    if (!fits) report_misfit(context, slot);
    if (has_scales) continue;
    const ir::ValueId missing = context.plan.has(slot.bias->input) ? slot.bias->weight : slot.bias->input;
    context.diagnostics.add("bias-without-scale", context.graph().value(slot.value).name,
                            cat("is the bias of ", context.graph().label(slot.bias->node), ", whose ",
                                context.graph().value(missing).name, " is not quantized; the bias stays float"));
  }
  if (!released.empty())
    context.plan.remove_if([&](const plan::QuantSlot& slot) { return released.contains(slot.value); });
  return released.empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning
