// SPDX-License-Identifier: MIT
#include "plan/constant_codes.h"

#include <algorithm>

#include "numeric/element_type.h"
#include "numeric/encode.h"
#include "numeric/small_floats.h"
#include "plan/stage.h"

namespace quarkq::plan {

namespace {

/// The axis of the weight that the output channels run along. Returns nullopt for operators without such an axis.
std::optional<int64_t> output_axis(const ir::Node& node) {
  if (node.op == "Conv" || node.op == "InstanceNormalization") return 0;
  if (node.op == "ConvTranspose") return 1;
  if (node.op == "Gemm") return node.int_or("transB", 0) != 0 ? 0 : 1;
  return std::nullopt;
}

}  // namespace

int64_t bias_axis(const ir::Shape& bias) {
  const auto longest = std::ranges::find_if(bias, [](int64_t size) { return size != 1; });
  if (longest != bias.end()) return longest - bias.begin();
  return std::max<int64_t>(static_cast<int64_t>(bias.size()) - 1, 0);
}

bool fits_bias(const ir::Node& node, int64_t axis, int64_t scales, const ir::Shape& bias) {
  if (scales == 1) return true;
  if (output_axis(node) != axis || bias.empty()) return false;
  const int64_t groups = node.op == "ConvTranspose" ? node.int_or("group", 1) : 1;
  const int64_t count = bias[static_cast<size_t>(bias_axis(bias))];
  // Rows of a Gemm's bias run along the other axis of the product.
  const bool runs_along_channels = bias_axis(bias) + 1 == static_cast<int64_t>(bias.size());
  return runs_along_channels && count == ir::checked_count(bias) && count == scales * groups;
}

std::vector<float> bias_scales(float input, std::span<const float> weight, float beta, size_t count) {
  std::vector<float> scales(weight.size() == 1 ? 1 : count);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = input * weight[i % weight.size()] * beta;
  return scales;
}

ParamList bias_params(const ParamList& input, const ParamList& weight, float beta, size_t count) {
  std::vector<float> own;
  for (const numeric::QuantParams& one : weight) own.push_back(one.scale);
  ParamList params;
  for (const float scale : bias_scales(input[0].scale, own, beta, count)) params.push_back({scale, 0});
  return params;
}

bool has_fitting_weight(const ir::Graph& graph, const QuantPlan& plan, const QuantSlot& bias) {
  const QuantSlot& weight = plan.slot(bias.bias->weight);
  const auto& stored = graph.value(weight.value).constant;
  if (!weight.stage.spec.per_channel || !stored) return true;
  const int64_t axis = weight.stage.spec.axis;
  const int64_t scales = stored->dims()[static_cast<size_t>(axis)];
  return fits_bias(graph.node(bias.bias->node), axis, scales, graph.value(bias.value).constant->dims());
}

namespace {

template <typename T>
ir::Tensor store_as(const std::vector<int32_t>& codes, ElementType type, const ir::Shape& dims) {
  ir::Tensor tensor = ir::Tensor::allocate(type, dims);
  auto data = tensor.mutable_data<T>();
  for (size_t i = 0; i < codes.size(); ++i) data[i] = static_cast<T>(codes[i]);
  return tensor;
}

ir::Tensor store_nibbles(const std::vector<int32_t>& codes, ElementType type, const ir::Shape& dims) {
  ir::Tensor tensor = ir::Tensor::allocate(type, dims);
  const std::vector<uint8_t> bytes(codes.begin(), codes.end());
  numeric::pack_codes(bytes.data(), reinterpret_cast<uint8_t*>(tensor.mutable_raw()), tensor.size(), 4);
  return tensor;
}

}  // namespace

ir::Tensor store_scaled_floats(std::span<const float> values, const numeric::ChannelSplit& split,
                               const std::vector<numeric::QuantParams>& params, ElementType type,
                               const ir::Shape& dims) {
  ir::Tensor tensor = ir::Tensor::allocate(type, dims);
  const numeric::SmallFloatSettings small{type, true, numeric::PowerRounding::kUp};
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) / split.inner % split.channels;
    const numeric::QuantParams& own = params[static_cast<size_t>(channel)];
    const float scaled = values[i] / own.scale + static_cast<float>(own.zero_point);
    if (type == ElementType::kBFloat16) {
      tensor.mutable_data<uint16_t>()[i] = bfloat16_from_float(scaled);
    } else if (type == ElementType::kFloat16) {
      tensor.mutable_data<uint16_t>()[i] = float16_from_float(scaled);
    } else {
      tensor.mutable_data<uint8_t>()[i] = numeric::small_float_from_float(scaled, small);
    }
  }
  return tensor;
}

std::optional<ir::Tensor> clipped_to_bfloat16(std::span<const float> values, const ir::Shape& dims) {
  const auto count = static_cast<int64_t>(values.size());
  if (!QQ_DISPATCH(numeric, needs_bfloat16_clip)(values.data(), count)) return {};
  ir::Tensor clipped = ir::Tensor::allocate(ElementType::kFloat, dims);
  QQ_DISPATCH(numeric, clip_to_bfloat16)(values.data(), clipped.mutable_data<float>().data(), count);
  return clipped;
}

numeric::IntegerRange stored_limits(const config::Settings& settings, const QuantSlot& slot) {
  const numeric::QuantSpec& spec = slot.stage.spec;
  // One step of 255 does not matter, one of 15 does, and the reference has no 4-bit weights to agree with.
  const bool uses_all = bits(spec.type) == 4 && !spec.symmetric;
  const bool is_narrow = slot.clip == ClipPolicy::kByTarget && slot.role == Role::kWeight && !uses_all &&
                         settings.traits().clips_weights_narrow;
  return numeric::integer_range(spec.type, is_narrow ? numeric::RangeKind::kSymmetric : numeric::RangeKind::kFull);
}

ir::Tensor store_codes(const std::vector<int32_t>& codes, ElementType type, const ir::Shape& dims) {
  switch (bits(type)) {
    case 4: return store_nibbles(codes, type, dims);
    case 8: return store_as<uint8_t>(codes, type, dims);
    case 16: return store_as<uint16_t>(codes, type, dims);
    default: return store_as<uint32_t>(codes, type, dims);
  }
}

ir::Tensor store_saturated(const std::vector<double>& codes, ElementType type, const ir::Shape& dims) {
  const numeric::IntegerRange range = numeric::integer_range(type, numeric::RangeKind::kFull);
  const auto least = static_cast<double>(range.min), most = static_cast<double>(range.max);
  std::vector<int32_t> held(codes.size());
  std::ranges::transform(codes, held.begin(), [&](double code) {
    return static_cast<int32_t>(code >= least ? std::min(code, most) : least);  // NaN is not >= anything
  });
  return store_codes(held, type, dims);
}

ir::Tensor encode_constant(std::span<const float> values, const ir::Shape& dims, const numeric::QuantSpec& spec,
                           const ParamList& params, numeric::IntegerRange limits) {
  return store_codes(numeric::encode(values, numeric::split_channels(dims, spec), params, limits), spec.type, dims);
}

}  // namespace quarkq::plan
