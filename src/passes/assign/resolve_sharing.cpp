// SPDX-License-Identifier: MIT
// Every slot gets its parameter id; slots marked "same as" get the one of their provider, through chains (spec 02 A.6).
#include "passes/passes.h"

namespace quarkq::passes {

Result<Changed> resolve_sharing(PassContext& context) {
  plan::QuantPlan& plan = context.plan;
  for (plan::QuantSlot& slot : plan.slots()) {
    if (!slot.provider.valid()) slot.stages[0].params = plan.params.add();
  }
  bool waiting = true;
  for (bool progress = true; waiting && progress;) {
    waiting = progress = false;
    for (plan::QuantSlot& slot : plan.slots()) {
      if (slot.stages[0].params.valid()) continue;
      const plan::QuantSlot* provider = plan.find(slot.provider);
      if (provider != nullptr && provider->stages[0].params.valid()) {
        slot.stages[0] = {plan::StageKind::kPair, provider->stages[0].spec, provider->stages[0].params};
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
