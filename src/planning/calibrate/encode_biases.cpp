// SPDX-License-Identifier: MIT
// int32 biases (ref:marking#biases): scale = scale(input) * scale(weight) * beta in float32, values rounded half to
// even in double.
#include <cmath>
#include <limits>

#include "ir/stored_floats.h"
#include "numeric/range_to_params.h"
#include "plan/bias_scales.h"
#include "plan/constant_codes.h"
#include "planning/calibrate/bias_limit.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

Result<plan::ParamList> scales_of(const pass::PlanContext& context, ir::ValueId value, const ir::Node& node) {
  const plan::QuantSlot* slot = context.plan.find(value);
  if (slot == nullptr || context.plan.params[slot->stage.params].empty()) {
    return unsupported(context.model.graph.label(node.id), ": its bias is int32, but ",
                       context.model.graph.value(value).name, " has no scale; set Int32Bias=false or exclude the node");
  }
  return context.plan.params[slot->stage.params];
}

/// Values of a bias that int32 cannot hold at the product of the scales. Those that drive the result to the end of its
/// range anyway are cut to half of what int32 holds, so that sums do not overflow; the others are reported.
void saturate(pass::PlanContext& context, const plan::QuantSlot& slot, const plan::ParamList& scales,
              std::vector<double>& codes) {
  constexpr size_t kShown = 8;
  constexpr double kLowest = std::numeric_limits<int32_t>::min(), kHighest = std::numeric_limits<int32_t>::max();
  constexpr double kHalf = 1 << 30;
  if (!context.settings.quirk(config::Quirk::kSaturateBiases)) return;
  const double limit = bias_limit(context, slot);
  std::vector<std::string> channels;
  size_t saturated = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] >= kLowest && codes[i] <= kHighest) continue;
    if (kHalf * static_cast<double>(scales[scales.size() > 1 ? i : 0].scale) >= limit) {
      codes[i] = std::copysign(kHalf, codes[i]);
      continue;
    }
    if (++saturated <= kShown) channels.push_back(cat(i));
  }
  if (saturated == 0) return;
  context.diagnostics.add(
      "bias-saturated", context.graph().value(slot.value).name,
      cat(saturated, " of ", codes.size(), " values of the bias of ", context.graph().label(slot.bias->node),
          " do not fit int32 in steps of input scale * weight ", "scale (channels ", join(channels, ", "),
          saturated > kShown ? ", ..." : "", ")"));
}

Status encode_bias(pass::PlanContext& context, plan::QuantSlot& slot) {
  const ir::Node& node = context.graph().node(slot.bias->node);
  QQ_TRY(const plan::ParamList input, scales_of(context, slot.bias->input, node));
  QQ_TRY(const plan::ParamList weight, scales_of(context, slot.bias->weight, node));
  const ir::Tensor& tensor = *context.graph().value(slot.value).constant;
  QQ_TRY(const std::vector<float> values, ir::float_values(tensor));
  plan::ParamList scales = plan::bias_params(input, weight, slot.bias->beta, values.size());
  if (slot.stage.spec.half_scale) {
    for (numeric::QuantParams& own : scales) own.scale = numeric::half_scale(own.scale);
  }
  std::vector<double> codes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double scale = scales[scales.size() > 1 ? i : 0].scale;
    codes[i] = std::nearbyint(static_cast<double>(values[i]) / scale);
    if (std::isnan(codes[i]))
      return bad_data("bias ", context.graph().value(slot.value).name, " holds NaN or has scale 0");
  }
  saturate(context, slot, scales, codes);
  slot.codes = plan::store_saturated(codes, ElementType::kInt32, tensor.dims());
  slot.stage.spec.type = ElementType::kInt32;
  slot.stage.spec.per_channel = weight.size() > 1;
  slot.stage.spec.axis = plan::bias_axis(tensor.dims());
  context.plan.params.set(slot.stage.params, std::move(scales));
  slot.state = plan::SlotState::kCalibrated;
  return Status();
}

}  // namespace

Result<Changed> encode_biases(pass::PlanContext& context) {
  bool changed = false;
  for (plan::QuantSlot& slot : context.plan.slots()) {
    if (slot.role != plan::Role::kBias) continue;
    QQ_RETURN_IF_ERROR(encode_bias(context, slot));
    changed = true;
  }
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::planning
