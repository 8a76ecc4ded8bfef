// SPDX-License-Identifier: MIT
// Every slot gets its parameter id; slots marked "same as" get the one of their provider, through chains
// (ref:marking#shared-parameters). Settings of its own on either side end the sharing, and so does a provider with
// scales per channel: its channels do not run along the same axis of what a node computes from it. Slots that have an
// id keep it.
#include "planning/passes.h"

namespace quarkq::planning {

Result<Changed> resolve_sharing(pass::PlanContext& context) {
  plan::QuantPlan& plan = context.plan;
  const plan::TensorOverrides& overrides = context.selection.overrides;
  Changed changed = Changed::kNo;
  for (plan::QuantSlot& slot : plan.slots()) {
    if (slot.stage.params.valid()) continue;
    changed = Changed::kYes;
    const plan::QuantSlot* provider = plan.find(slot.provider);
    const bool is_per_channel =
        provider != nullptr && (provider->stage.spec.per_channel || provider->role == plan::Role::kBias);
    const bool alone = is_per_channel || overrides.contains(slot.value) || overrides.contains(slot.provider);
    if (!slot.provider.valid() || alone) slot.stage.params = plan.params.add();
  }
  bool waiting = true;
  for (bool progress = true; waiting && progress;) {
    waiting = progress = false;
    for (plan::QuantSlot& slot : plan.slots()) {
      if (slot.stage.params.valid()) continue;
      const plan::QuantSlot* provider = plan.find(slot.provider);
      if (provider != nullptr && provider->stage.params.valid()) {
        const plan::Stage& theirs = provider->stage;
        const bool is_block = theirs.kind == plan::StageKind::kBlock;
        slot.stage = {is_block ? theirs.kind : plan::StageKind::kPair, theirs.spec, theirs.params, theirs.block};
        plan.decisions.push_back({slot.value, plan::DecisionKind::kShared, {}, slot.provider});
        progress = true;
      } else {
        waiting = true;
      }
    }
  }
  for (const plan::QuantSlot& slot : plan.slots()) {
    if (slot.stage.params.valid()) continue;
    return internal_error("tensor ", context.graph().value(slot.value).name, " shares the scale of ",
                          context.graph().value(slot.provider).name, ", which is never quantized");
  }
  return changed;
}

}  // namespace quarkq::planning
