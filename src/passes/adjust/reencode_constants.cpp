// SPDX-License-Identifier: MIT
#include "passes/adjust/reencode_constants.h"
#include "numeric/encode.h"
#include "passes/calibrate/constants.h"

namespace quarkq::passes {

Status reencode_constants(PassContext& context, const std::set<plan::ParamId>& changed) {
  for (plan::QuantSlot& slot : context.plan.slots()) {
    const plan::Stage& stage = slot.stages[0];
    const auto& constant = context.graph().value(slot.value).constant;
    if (!slot.codes || !constant || !changed.contains(stage.params) || !is_integer(stage.spec.type)) continue;
    QQ_TRY(const std::vector<float> values, float_values(*constant));
    const numeric::ChannelSplit split = numeric::split_channels(constant->dims(), stage.spec);
    slot.codes = store_codes(
        numeric::encode(values, split, context.plan.params[stage.params], stored_limits(context.settings, slot)),
        stage.spec.type, constant->dims());
  }
  return Status();
}

}  // namespace quarkq::passes
