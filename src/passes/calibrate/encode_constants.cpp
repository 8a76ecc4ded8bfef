// SPDX-License-Identifier: MIT
// Weights (and biases quantized like weights): scales from their own values, then the integers that will be stored.
#include "numeric/encode.h"
#include "passes/calibrate/constants.h"
#include "passes/passes.h"
#include "plan/flavors.h"

namespace quarkq::passes {
namespace {

Status encode_one(PassContext& context, plan::QuantSlot& slot, bool narrow) {
  const numeric::QuantSpec& spec = slot.stages[0].spec;
  const ir::Tensor& tensor = *context.graph().value(slot.value).constant;
  QQ_TRY(const std::vector<float> values, float_values(tensor));
  const numeric::ChannelSplit split = numeric::split_channels(tensor.dims(), spec);
  const numeric::IntegerRange limits =
      numeric::integer_range(spec.type, narrow ? numeric::RangeKind::kSymmetric : numeric::RangeKind::kFull);
  const bool search = context.settings.calibrate_method == config::CalibrateMethod::kMinMSE;
  QQ_TRY(std::vector<numeric::QuantParams> params, numeric::weight_params(values, split, spec, limits, search));
  slot.codes = store_codes(numeric::encode(values, split, params, limits), spec.type, tensor.dims());
  context.plan.params.set(slot.stages[0].params, std::move(params));
  slot.state = plan::SlotState::kCalibrated;
  return Status();
}

}  // namespace

Result<Changed> encode_constants(PassContext& context) {
  const bool narrow = plan::flavor_of(context.settings.quantizer).clips_weights_narrow;
  bool changed = false;
  for (plan::QuantSlot& slot : context.plan.slots()) {
    if (slot.role != plan::Role::kWeight || slot.provider.valid()) continue;
    if (Status status = encode_one(context, slot, narrow); !status.ok()) {
      return std::move(status).context(cat("constant ", context.graph().value(slot.value).name));
    }
    changed = true;
  }
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::passes
