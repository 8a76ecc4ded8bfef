// SPDX-License-Identifier: MIT
#include "planning/constrain/reencode_constants.h"
#include "ir/stored_floats.h"
#include "numeric/encode.h"
#include "plan/constant_codes.h"

namespace quarkq::planning {

Status reencode_constants(pass::PlanContext& context, const std::set<plan::ParamId>& changed) {
  for (plan::QuantSlot& slot : context.plan.slots()) {
    const plan::Stage& stage = slot.stage;
    const auto& constant = context.graph().value(slot.value).constant;
    if (!slot.codes || !constant || !changed.contains(stage.params) || !is_integer(stage.spec.type)) continue;
    QQ_TRY(const ir::FloatView values, ir::FloatView::of(*constant));
    slot.codes = context.graph().settled(plan::encode_constant(values, constant->dims(), stage.spec,
                                                               context.plan.params[stage.params],
                                                               plan::stored_limits(context.settings, slot)));
  }
  return Status();
}

}  // namespace quarkq::planning
