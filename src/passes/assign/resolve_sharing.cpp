// SPDX-License-Identifier: MIT
// Every slot gets its parameter id; slots marked "same as" get the one of their provider, through chains (spec 02 A.6).
// Settings of its own on either side end the sharing.
#include "passes/passes.h"

namespace quarkq::passes {

Result<Changed> resolve_sharing(PassContext& context) {
  plan::QuantPlan& plan = context.plan;
  const plan::TensorOverrides& overrides = context.selection.overrides;
  for (plan::QuantSlot& slot : plan.slots()) {
    const bool alone = overrides.contains(slot.value) || overrides.contains(slot.provider);
    if (!slot.provider.valid() || alone) slot.stages[0].params = plan.params.add();
  }
  bool waiting = true;
  for (bool progress = true; waiting && progress;) {
    waiting = progress = false;
    for (plan::QuantSlot& slot : plan.slots()) {
      if (slot.stages[0].params.valid()) continue;
      const plan::QuantSlot* provider = plan.find(slot.provider);
      if (provider != nullptr && provider->stages[0].params.valid()) {
        const plan::Stage& theirs = provider->stages[0];
        const bool is_block = theirs.kind == plan::StageKind::kBlock;
        slot.stages[0] = {is_block ? theirs.kind : plan::StageKind::kPair, theirs.spec, theirs.params, theirs.block};
        progress = true;
      } else {
        waiting = true;
      }
    }
  }
  for (const plan::QuantSlot& slot : plan.slots()) {
    if (slot.stages[0].params.valid()) continue;
    return internal_error("tensor ", context.graph().value(slot.value).name, " shares the scale of ",
                          context.graph().value(slot.provider).name, ", which is never quantized");
  }
  return Changed::kYes;
}

}  // namespace quarkq::passes
