// SPDX-License-Identifier: MIT
#include "passes/adjust/reencode_constants.h"
#include "numeric/encode.h"
#include "passes/calibrate/constants.h"
#include "plan/flavors.h"

namespace quarkq::passes {

Status reencode_constants(PassContext& context, const std::set<plan::ParamId>& changed) {
  const bool narrow = plan::flavor_of(context.settings.quantizer).clips_weights_narrow;
  for (plan::QuantSlot& slot : context.plan.slots()) {
    const plan::Stage& stage = slot.stages[0];
    const auto& constant = context.graph().value(slot.value).constant;
    if (!slot.codes || !constant || !changed.contains(stage.params) || !is_integer(stage.spec.type)) continue;
    QQ_TRY(const std::vector<float> values, float_values(*constant));
    const bool is_narrow = narrow && slot.role == plan::Role::kWeight;
    const numeric::IntegerRange limits =
        numeric::integer_range(stage.spec.type, is_narrow ? numeric::RangeKind::kSymmetric : numeric::RangeKind::kFull);
    const numeric::ChannelSplit split = numeric::split_channels(constant->dims(), stage.spec);
    slot.codes = store_codes(numeric::encode(values, split, context.plan.params[stage.params], limits), stage.spec.type,
                             constant->dims());
  }
  return Status();
}

}  // namespace quarkq::passes
