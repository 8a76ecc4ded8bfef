// SPDX-License-Identifier: MIT
// AdjustWeightScaleForInt32Bias (ref:marking#biases) and the default mode: a bias is stored in steps of input scale *
// weight scale; where int32 cannot hold it, the weight gets a larger scale and is encoded again. The bias then has 2^31
// steps, so what the coarser weights lose is far below one step of the result.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/stored_floats.h"
#include "numeric/encode.h"
#include "plan/constant_codes.h"
#include "planning/calibrate/bias_limit.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

constexpr double kRounding = 1 + 1e-6;  // of a scale that was widened before

/// The smallest scale at which int32 holds values up to `magnitude`, with a little room for rounding.
double smallest_scale(double magnitude) { return 1.0001 * 2.0 * magnitude / 4294967294.0; }

/// `scale` times `factor` or more, in the form that the format's scales have.
float enlarged(float scale, double factor, numeric::ScaleKind kind) {
  if (kind == numeric::ScaleKind::kPowerOfTwo) factor = std::exp2(std::ceil(std::log2(factor)));
  const auto larger = static_cast<float>(static_cast<double>(scale) * factor);
  return kind == numeric::ScaleKind::kInt16 ? numeric::int16_scale(larger) : larger;
}

/// A bias that the scales of its weight must leave room for.
struct BiasRoom {
  std::vector<float> values;
  double limit = 0;   ///< larger values need no room: bias_limit()
  double spare = 1;   ///< how much more room a scale that grows gets, so that sums with a bias do not overflow
  double others = 1;  ///< what a weight's scale is multiplied by
};

/// Enlarges the scales that are too small. Returns true if a scale grew.
bool widen(plan::ParamList& weight, const BiasRoom& bias, numeric::ScaleKind kind) {
  bool changed = false;
  for (size_t i = 0; i < weight.size(); ++i) {
    double magnitude = 0;
    for (size_t j = 0; j < bias.values.size(); ++j) {
      if (j % weight.size() == i) magnitude = std::max(magnitude, std::abs(static_cast<double>(bias.values[j])));
    }
    const double product = bias.others * static_cast<double>(weight[i].scale);
    const double least = smallest_scale(std::min(magnitude, bias.limit));
    if (!(product > 0 && product * kRounding < least)) continue;
    weight[i].scale = enlarged(weight[i].scale, bias.spare * least / product, kind);
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

/// Whether the user specified the scales of this weight, which are then preserved.
bool has_given_scales(const pass::PlanContext& context, const plan::QuantSlot& weight) {
  const config::TensorOverride* own = plan::find_override(context.selection.overrides, weight.value);
  return context.settings.quirk(config::Quirk::kKeepGivenScales) && own != nullptr && !own->values.empty() &&
         own->values[0].params.has_value();
}

Result<bool> visit(pass::PlanContext& context, const plan::QuantSlot& bias) {
  const plan::QuantSlot* input = context.plan.find(bias.bias->input);
  plan::QuantSlot* weight = context.plan.find(bias.bias->weight);
  if (input == nullptr || weight == nullptr || !context.graph().value(weight->value).is_initializer()) return false;
  plan::ParamList params = context.plan.params[weight->stage.params];
  const plan::ParamList& inputs = context.plan.params[input->stage.params];
  const bool is_coded = weight->stage.kind != plan::StageKind::kBlock && is_integer(weight->stage.spec.type);
  if (inputs.empty() || !is_coded || has_given_scales(context, *weight)) return false;
  BiasRoom room;
  QQ_TRY(room.values, ir::float_values(*context.graph().value(bias.value).constant));
  const bool is_as_asked = context.settings.bias.adjust_weight_scale_for_int32_bias;
  room.limit = is_as_asked ? std::numeric_limits<double>::infinity() : bias_limit(context, bias);
  room.spare = is_as_asked ? 1 : 2;
  room.others = static_cast<double>(inputs[0].scale) * static_cast<double>(bias.bias->beta);
  if (!widen(params, room, weight->stage.spec.scale)) return false;
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
