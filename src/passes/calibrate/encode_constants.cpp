// SPDX-License-Identifier: MIT
// Weights (and biases quantized like weights): scales from their own values, then the integers that will be stored.
#include <algorithm>
#include <cmath>

#include "calib/weight_mse.h"
#include "numeric/encode.h"
#include "passes/calibrate/constants.h"
#include "passes/passes.h"
#include "plan/flavors.h"

namespace quarkq::passes {
namespace {

bool has_nan(const std::vector<float>& values) {
  return std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); });
}

calib::WeightMseMode mse_mode(const config::Settings& settings) {
  const std::string mode = settings.min_mse_mode_float_scale.value_or("Percentile");
  if (mode == "HistCenter") return calib::WeightMseMode::kHistCenter;
  return mode == "All" ? calib::WeightMseMode::kAll : calib::WeightMseMode::kPercentile;
}

Result<std::vector<numeric::QuantParams>> mse_params(const std::vector<float>& values,
                                                     const numeric::ChannelSplit& split, const numeric::QuantSpec& spec,
                                                     numeric::IntegerRange limits, calib::WeightMseMode mode) {
  if (has_nan(values)) return bad_data("the values hold NaN");
  std::vector<numeric::QuantParams> params;
  for (int64_t channel = 0; channel < split.channels; ++channel) {
    QQ_TRY(const calib::WeightMseResult found,
           calib::search_weight_mse(numeric::channel_values(values, split, channel), spec, limits, mode));
    params.push_back(found.params);
  }
  return params;
}

/// WeightCalibrateMethod MinMSE replaces whatever the method of the activations would do (spec 01 C-056).
Result<std::vector<numeric::QuantParams>> find_params(const config::Settings& settings,
                                                      const std::vector<float>& values,
                                                      const numeric::ChannelSplit& split,
                                                      const numeric::QuantSpec& spec, numeric::IntegerRange limits) {
  using config::CalibrateMethod;
  if (settings.weight_calibrate_method == CalibrateMethod::kWeightMinMSE) {
    return mse_params(values, split, spec, limits, mse_mode(settings));
  }
  const bool search = settings.calibrate_method == CalibrateMethod::kMinMSE && !settings.int16_scale;
  return numeric::weight_params(values, split, spec, limits, search);
}

Status encode_one(PassContext& context, plan::QuantSlot& slot, bool narrow) {
  const numeric::QuantSpec& spec = slot.stages[0].spec;
  const ir::Tensor& tensor = *context.graph().value(slot.value).constant;
  QQ_TRY(const std::vector<float> values, float_values(tensor));
  const numeric::ChannelSplit split = numeric::split_channels(tensor.dims(), spec);
  const numeric::IntegerRange limits =
      numeric::integer_range(spec.type, narrow ? numeric::RangeKind::kSymmetric : numeric::RangeKind::kFull);
  QQ_TRY(std::vector<numeric::QuantParams> params, find_params(context.settings, values, split, spec, limits));
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
