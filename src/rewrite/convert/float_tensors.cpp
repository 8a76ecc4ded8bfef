// SPDX-License-Identifier: MIT
#include "rewrite/convert/float_tensors.h"

#include <algorithm>
#include <cmath>

#include "numeric/half.h"

namespace quarkq::rewrite {
namespace {

constexpr float kMostFloat16 = 65504, kStepFloat16 = 5.9604645e-08f;  // 2^-24
constexpr float kMostBFloat16 = 3.38953139e38f;

float widened(uint16_t bits, ElementType type) {
  return type == ElementType::kFloat16 ? float_from_float16(bits) : float_from_bfloat16(bits);
}

uint16_t narrowed(float value, ElementType type) {
  const bool is_half = type == ElementType::kFloat16;
  if (std::isfinite(value)) {
    const float most = is_half ? kMostFloat16 : kMostBFloat16;
    value = std::clamp(value, -most, most);
    if (is_half && value != 0 && std::abs(value) < kStepFloat16) value = std::copysign(kStepFloat16, value);
  }
  return is_half ? float16_from_float(value) : bfloat16_from_float(value);
}

}  // namespace

ir::Tensor as_float_type(const ir::Tensor& tensor, ElementType to) {
  const ElementType from = tensor.type();
  if (from == to) return tensor;
  std::vector<float> values(static_cast<size_t>(tensor.size()));
  if (from == ElementType::kFloat) {
    std::ranges::copy(tensor.data<float>(), values.begin());
  } else {
    std::ranges::transform(tensor.data<uint16_t>(), values.begin(), [&](uint16_t code) { return widened(code, from); });
  }
  if (to == ElementType::kFloat) return ir::Tensor::from<float>(tensor.dims(), values);
  ir::Tensor result = ir::Tensor::allocate(to, tensor.dims());
  std::ranges::transform(values, result.mutable_data<uint16_t>().begin(), [&](float v) { return narrowed(v, to); });
  return result;
}

bool fits_float_type(const ir::Tensor& tensor, ElementType to) {
  if (to != ElementType::kFloat16) return true;  // the others reach as far as float32
  const ir::Tensor wide = as_float_type(tensor, ElementType::kFloat);
  return std::ranges::none_of(wide.data<float>(),
                              [](float value) { return std::isfinite(value) && std::abs(value) > kMostFloat16; });
}

}  // namespace quarkq::rewrite
