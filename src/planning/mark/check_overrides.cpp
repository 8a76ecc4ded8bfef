// SPDX-License-Identifier: MIT
#include "planning/mark/check_overrides.h"

#include "config/tensor_overrides.h"

namespace quarkq::planning {
namespace {

Status check_zero_points(const std::string& tensor, const config::TensorOverride& own, const numeric::QuantSpec& spec) {
  const numeric::IntegerRange allowed = numeric::integer_range(spec.type, numeric::RangeKind::kFull);
  for (const config::OverrideValues& values : own.values) {
    if (!values.params) continue;
    const int32_t found = values.params->zero_point;
    if (found < allowed.min || found > allowed.max) {
      return invalid_argument("TensorQuantOverrides.", tensor, ".zero_point: found ", found, ", allowed for ",
                              name(spec.type), " is ", allowed.min, " to ", allowed.max);
    }
  }
  return Status();
}

Status check_count(const ir::Value& value, const config::TensorOverride& own, const numeric::QuantSpec& spec) {
  const size_t found = own.values.size();
  if (found <= 1) return Status();
  if (!value.is_initializer() || !spec.per_channel) {
    return invalid_argument("TensorQuantOverrides.", value.name, ": found ", found, " entries, allowed is 1, because ",
                            value.is_initializer() ? "this constant" : "an activation", " has one scale");
  }
  const auto channels = static_cast<size_t>(value.constant->dims()[static_cast<size_t>(spec.axis)]);
  if (found == channels) return Status();
  return invalid_argument("TensorQuantOverrides.", value.name, ": found ", found, " entries, allowed are 1, or ",
                          channels, ", one for each channel along axis ", spec.axis, " of shape ",
                          shape_text(value.constant->dims()));
}

}  // namespace

Status check_overrides(const pass::PlanContext& context) {
  if (!context.settings.quirk(config::Quirk::kCheckOverrides)) return Status();
  for (const plan::QuantSlot& slot : context.plan.slots()) {
    const config::TensorOverride* own = plan::find_override(context.selection.overrides, slot.value);
    const numeric::QuantSpec& spec = slot.stage.spec;
    if (own == nullptr || slot.stage.kind == plan::StageKind::kBlock || !is_integer(spec.type)) continue;
    const ir::Value& value = context.graph().value(slot.value);
    QQ_RETURN_IF_ERROR(check_zero_points(value.name, *own, spec));
    QQ_RETURN_IF_ERROR(check_count(value, *own, spec));
  }
  return Status();
}

}  // namespace quarkq::planning
