// SPDX-License-Identifier: MIT
// int32 biases (ref:marking#biases): scale = scale(input) * scale(weight) * beta in float32, values rounded half to
// even in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/constants.h"
#include "numeric/encode.h"
#include "numeric/quant_params.h"
#include "pass/context.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

// How large a bias can be before its size no longer matters.

/// Returns the range of the result, or of the Relu or Clip that is its only reader and shares its Q/DQ pair.
std::optional<numeric::Range> result_range(const pass::PlanContext& context, ir::ValueId result) {
  const ir::Graph& graph = context.graph();
  const plan::QuantSlot* slot = context.plan.find(result);
  if (slot != nullptr && slot->range && slot->state != plan::SlotState::kAbsorbed) return slot->range;
  if (graph.value(result).uses.size() != 1 || graph.value(result).is_output) return std::nullopt;
  const ir::Node& reader = graph.node(graph.value(result).uses[0].node);
  if (!reader.is("Relu") && !reader.is("Clip")) return std::nullopt;
  const plan::QuantSlot* after = context.plan.find(reader.output(0));
  return after == nullptr ? std::nullopt : after->range;
}

bool has_8_bits(const plan::QuantSlot* slot) {
  return slot != nullptr && is_integer(slot->stage.spec.type) && bits(slot->stage.spec.type) <= 8;
}

double largest_value(const numeric::Range& range) {
  return std::max(std::abs(static_cast<double>(range.min)), std::abs(static_cast<double>(range.max)));
}

/// Returns what the products of a node can add up to in one channel: terms of a sum * largest weight * largest input.
double largest_sum(const pass::PlanContext& context, const plan::QuantSlot& bias, const plan::QuantSlot* input) {
  const ir::Tensor* weight = context.graph().constant(bias.bias->weight);
  const ir::Tensor* values = context.graph().constant(bias.value);
  if (input == nullptr || !input->range || weight == nullptr || values == nullptr || values->size() == 0)
    return std::numeric_limits<double>::infinity();
  const Result<ir::FloatView> weights = ir::FloatView::of(*weight);
  if (!weights.ok()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (const float one : weights.value().span()) largest = std::max(largest, std::abs(static_cast<double>(one)));
  const auto terms = static_cast<double>(weight->size()) / static_cast<double>(values->size());
  return terms * largest * largest_value(*input->range);
}

/// The magnitude from which on a value of an int32 bias drives the quantized result of its node to the end of its
/// range, whatever the node reads. Such values may saturate. 8-bit products add up to far fewer than 2^31 steps, so
/// twice the range is enough; others come on top of the range. Returns infinity if a range is not known.
double bias_limit(const pass::PlanContext& context, const plan::QuantSlot& bias) {
  const auto range = result_range(context, context.graph().node(bias.bias->node).output(0));
  if (!range) return std::numeric_limits<double>::infinity();
  const plan::QuantSlot* input = context.plan.find(bias.bias->input);
  if (has_8_bits(input) && has_8_bits(context.plan.find(bias.bias->weight))) return 2.0 * largest_value(*range);
  return largest_value(*range) + largest_sum(context, bias, input);
}

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
  const auto fits = [](double code) { return code >= kLowest && code <= kHighest; };
  if (std::ranges::all_of(codes, fits)) return;
  const double limit = bias_limit(context, slot);
  std::vector<std::string> channels;
  size_t saturated = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    if (fits(codes[i])) continue;
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
      return bad_data("bias ", context.graph().value(slot.value).name, " contains NaN or has scale 0");
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

// AdjustWeightScaleForInt32Bias (ref:marking#biases) and the default mode: a bias is stored in steps of input scale *
// weight scale; where int32 cannot hold it, the weight gets a larger scale and is encoded again. The bias then has 2^31
// steps, so what the coarser weights lose is far below one step of the result.

namespace {

constexpr double kRounding = 1 + 1e-6;  // Rounding of a scale that was widened before.

/// Returns the smallest scale at which int32 represents values up to `magnitude`, with a margin for rounding.
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
  double others = 1;  ///< The other factor of the bias scale.
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
