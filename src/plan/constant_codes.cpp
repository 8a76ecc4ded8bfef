// SPDX-License-Identifier: MIT
#include "plan/constant_codes.h"

#include <algorithm>

#include "numeric/half.h"
#include "numeric/small_floats.h"
#include "numeric/weight_loops.h"
#include "plan/data_types.h"

namespace quarkq::plan {
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
  numeric::pack_nibbles(bytes.data(), reinterpret_cast<uint8_t*>(tensor.mutable_raw()), tensor.size());
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
