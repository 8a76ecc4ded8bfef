// SPDX-License-Identifier: MIT
// AdjustWeightScaleForInt32Bias (ref:marking#biases): a bias is stored in steps of input scale * weight scale; where
// int32 cannot hold it, the weight gets a larger scale and is encoded again.
#include <algorithm>
#include <cmath>

#include "ir/stored_floats.h"
#include "numeric/encode.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

constexpr double kRounding = 1 + 1e-6;  // of a scale that was widened before

/// The smallest scale at which int32 holds values up to `magnitude`, with a little room for rounding.
double smallest_scale(double magnitude) { return 1.0001 * 2.0 * magnitude / 4294967294.0; }

/// True when a scale grew.
bool widen(plan::ParamList& weight, double others, const std::vector<float>& bias) {
  bool changed = false;
  for (size_t i = 0; i < weight.size(); ++i) {
    double magnitude = 0;
    for (size_t j = 0; j < bias.size(); ++j) {
      if (j % weight.size() == i) magnitude = std::max(magnitude, std::abs(static_cast<double>(bias[j])));
    }
    const double product = others * static_cast<double>(weight[i].scale), least = smallest_scale(magnitude);
    if (!(product > 0 && product * kRounding < least)) continue;
    weight[i].scale = static_cast<float>(static_cast<double>(weight[i].scale) * (least / product));
    changed = true;
  }
  return changed;
}

Status encode_again(pass::PlanContext& context, plan::QuantSlot& slot, const plan::ParamList& params) {
  if (slot.stage.kind != plan::StageKind::kStored) return Status();
  const ir::Tensor& tensor = *context.graph().value(slot.value).constant;
  const numeric::QuantSpec& spec = slot.stage.spec;
  QQ_TRY(const std::vector<float> values, ir::float_values(tensor));
  slot.codes = plan::encode_constant(values, tensor.dims(), spec, params, plan::stored_limits(context.settings, slot));
  return Status();
}

Result<bool> visit(pass::PlanContext& context, const plan::QuantSlot& bias) {
  const plan::QuantSlot* input = context.plan.find(bias.bias->input);
  plan::QuantSlot* weight = context.plan.find(bias.bias->weight);
  if (input == nullptr || weight == nullptr || !context.graph().value(weight->value).is_initializer()) return false;
  plan::ParamList params = context.plan.params[weight->stage.params];
  const plan::ParamList& inputs = context.plan.params[input->stage.params];
  const bool is_coded = weight->stage.kind != plan::StageKind::kBlock && is_integer(weight->stage.spec.type);
  if (inputs.empty() || !is_coded) return false;
  QQ_TRY(const std::vector<float> values, ir::float_values(*context.graph().value(bias.value).constant));
  const double others = static_cast<double>(inputs[0].scale) * static_cast<double>(bias.bias->beta);
  if (!widen(params, others, values)) return false;
  QQ_RETURN_IF_ERROR(encode_again(context, *weight, params));
  context.plan.params.set(weight->stage.params, std::move(params));
  return true;
}

}  // namespace

Result<Changed> widen_weight_scales(pass::PlanContext& context) {
  bool changed = false;
  for (const plan::QuantSlot& slot : context.plan.slots()) {
    if (slot.role != plan::Role::kBias) continue;
    QQ_TRY(const bool widened, visit(context, slot));
    changed |= widened;
  }
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::planning
