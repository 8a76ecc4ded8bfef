// SPDX-License-Identifier: MIT
// Weights (and biases quantized like weights): scales from their own values, then what will be stored.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "calib/weight_mse.h"
#include "ir/constants.h"
#include "numeric/encode.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

bool has_nan(std::span<const float> values) {
  return std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); });
}

calib::WeightMseMode mse_mode(const config::Settings& settings) {
  const std::string mode = settings.ranges.min_mse_mode_float_scale.value_or("Percentile");
  if (mode == "HistCenter") return calib::WeightMseMode::kHistCenter;
  return mode == "All" ? calib::WeightMseMode::kAll : calib::WeightMseMode::kPercentile;
}

Result<std::vector<numeric::QuantParams>> mse_params(std::span<const float> values, const numeric::ChannelSplit& split,
                                                     const numeric::QuantSpec& spec, numeric::IntegerRange limits,
                                                     calib::WeightMseMode mode) {
  if (has_nan(values)) return bad_data("the values contain NaN");
  std::vector<numeric::QuantParams> params;
  for (int64_t channel = 0; channel < split.channels; ++channel) {
    QQ_TRY(const calib::WeightMseResult found,
           calib::search_weight_mse(numeric::channel_values(values, split, channel), spec, limits, mode));
    params.push_back(found.params);
  }
  return params;
}

/// WeightCalibrateMethod MinMSE replaces whatever the method of the activations would do
/// (ref:scales#weights-by-squared-error).
Result<std::vector<numeric::QuantParams>> find_params(const config::Settings& settings, std::span<const float> values,
                                                      const numeric::ChannelSplit& split,
                                                      const numeric::QuantSpec& spec, numeric::IntegerRange limits) {
  using config::CalibrateMethod;
  if (settings.ranges.weight_calibrate_method == CalibrateMethod::kFloatMinMSE) {
    return mse_params(values, split, spec, limits, mse_mode(settings));
  }
  const bool search = settings.ranges.calibrate_method == CalibrateMethod::kMinMSE && !settings.formats.int16_scale;
  return numeric::weight_params(values, split, spec, limits, search);
}

/// The parameters that the user gave (ref:settings#tensor-overrides), one of each channel, or nothing.
std::optional<std::vector<numeric::QuantParams>> given_params(const config::TensorOverride* own, int64_t channels) {
  if (own == nullptr || own->values.empty() || !own->values[0].params) return {};
  std::vector<numeric::QuantParams> params;
  for (int64_t i = 0; i < channels; ++i) {
    const size_t index = std::min(static_cast<size_t>(i), own->values.size() - 1);
    params.push_back(own->values[index].params.value_or(*own->values[0].params));
  }
  return params;
}

/// Computes the parameters for the user's ranges: one for all channels, or one per channel.
Result<std::vector<numeric::QuantParams>> params_for_given_ranges(const config::TensorOverride& own,
                                                                  const numeric::QuantSpec& spec, int64_t channels) {
  std::vector<numeric::QuantParams> params;
  for (int64_t i = 0; i < channels; ++i) {
    const config::OverrideValues& values = own.values[std::min(static_cast<size_t>(i), own.values.size() - 1)];
    const config::OverrideValues& range = values.min ? values : own.values[0];
    QQ_TRY(const numeric::QuantParams one, numeric::params_for_range(spec, {*range.min, *range.max}));
    params.push_back(one);
  }
  return params;
}

/// Depends on the type of all weights, as in the reference, and by default also on the type of this one: a mask's
/// lowest float32 would round to minus infinity, and completely masked rows would become NaN.
bool clips_to_bfloat16(const config::Settings& settings, const plan::Stage& stage) {
  const bool is_own =
      settings.guards() && stage.kind != plan::StageKind::kBlock && stage.spec.type == ElementType::kBFloat16;
  return settings.traits().clips_bfloat16_weights &&
         (settings.formats.weight_type == config::DataType::kBFloat16 || is_own);
}

/// Floating formats: the value in the new type, or the float value as that type can hold it under a pair.
Status encode_float(pass::PlanContext& context, plan::QuantSlot& slot, const ir::Tensor& tensor) {
  plan::Stage& stage = slot.stage;
  QQ_TRY(const ir::FloatView stored, ir::FloatView::of(tensor));
  const numeric::ChannelSplit split = numeric::split_channels(tensor.dims(), stage.spec);
  auto clipped =
      clips_to_bfloat16(context.settings, stage) ? plan::clipped_to_bfloat16(stored, tensor.dims()) : std::nullopt;
  const std::span<const float> values = clipped ? std::as_const(*clipped).data<float>() : stored.span();
  QQ_TRY(std::vector<numeric::QuantParams> params, numeric::weight_params(values, split, stage.spec, {}, false));
  if (stage.kind == plan::StageKind::kStored) {
    slot.codes =
        context.graph().settled(plan::store_scaled_floats(values, split, params, stage.spec.type, tensor.dims()));
  } else if (clipped && tensor.type() == ElementType::kFloat) {
    slot.codes = context.graph().settled(*std::exchange(clipped, std::nullopt));
  }
  context.plan.params.set(stage.params, std::move(params));
  return Status();
}

Status encode_integers(pass::PlanContext& context, plan::QuantSlot& slot, const ir::Tensor& tensor) {
  const numeric::QuantSpec& spec = slot.stage.spec;
  const config::TensorOverride* own = plan::find_override(context.selection.overrides, slot.value);
  const numeric::ChannelSplit split = numeric::split_channels(tensor.dims(), spec);
  const auto given = given_params(own, split.channels);
  QQ_TRY(const ir::FloatView values, ir::FloatView::of(tensor));
  if (given) slot.clip = plan::ClipPolicy::kFullType;
  const numeric::IntegerRange limits = plan::stored_limits(context.settings, slot);
  std::vector<numeric::QuantParams> params = given.value_or(std::vector<numeric::QuantParams>());
  if (!given && own != nullptr && !own->values.empty() && own->values[0].min) {
    QQ_TRY(params, params_for_given_ranges(*own, spec, split.channels));
  } else if (!given) {
    QQ_TRY(params, find_params(context.settings, values, split, spec, limits));
  }
  if (slot.stage.kind == plan::StageKind::kStored) {
    slot.codes = context.graph().settled(plan::encode_constant(values, tensor.dims(), spec, params, limits));
  }
  context.plan.params.set(slot.stage.params, std::move(params));
  return Status();
}

Status encode_one(pass::PlanContext& context, plan::QuantSlot& slot) {
  const ir::Tensor& tensor = *context.graph().value(slot.value).constant;
  const bool is_integer_type = slot.stage.kind != plan::StageKind::kBlock && is_integer(slot.stage.spec.type);
  QQ_RETURN_IF_ERROR(is_integer_type ? encode_integers(context, slot, tensor) : encode_float(context, slot, tensor));
  slot.state = plan::SlotState::kCalibrated;
  return Status();
}

}  // namespace

Result<Changed> encode_constants(pass::PlanContext& context) {
  bool changed = false;
  for (plan::QuantSlot& slot : context.plan.slots()) {
    if (slot.role != plan::Role::kWeight || slot.provider.valid()) continue;
    if (Status status = encode_one(context, slot); !status.ok()) {
      return std::move(status).context(cat("constant ", context.graph().value(slot.value).name));
    }
    changed = true;
  }
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::planning
