// SPDX-License-Identifier: MIT
// The scale of an int32 bias is the product of its node's scales; where one is missing the bias stays float. (The
// reference gives up there.)
#include "planning/passes.h"

namespace quarkq::planning {

Result<Changed> release_biases(pass::PlanContext& context) {
  std::vector<ir::ValueId> released;
  for (const plan::QuantSlot& slot : context.plan.slots()) {
    if (slot.role != plan::Role::kBias) continue;
    if (context.plan.has(slot.bias->input) && context.plan.has(slot.bias->weight)) continue;
    const ir::ValueId missing = context.plan.has(slot.bias->input) ? slot.bias->weight : slot.bias->input;
    context.diagnostics.warn("bias-without-scale", context.graph().value(slot.value).name,
                             cat("is the bias of ", context.graph().label(slot.bias->node), ", whose ",
                                 context.graph().value(missing).name, " is not quantized; the bias stays float"));
    context.plan.decisions.push_back({slot.value, plan::DecisionKind::kBiasWithoutScale, slot.bias->node});
    released.push_back(slot.value);
  }
  for (const ir::ValueId value : released) context.plan.remove(value);
  return released.empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning
