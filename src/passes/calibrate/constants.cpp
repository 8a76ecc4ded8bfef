// SPDX-License-Identifier: MIT
#include "passes/calibrate/constants.h"

#include "numeric/half.h"

namespace quarkq::passes {
namespace {

template <typename T>
ir::Tensor store_as(const std::vector<int32_t>& codes, ElementType type, const ir::Shape& dims) {
  ir::Tensor tensor = ir::Tensor::allocate(type, dims);
  auto data = tensor.mutable_data<T>();
  for (size_t i = 0; i < codes.size(); ++i) data[i] = static_cast<T>(codes[i]);
  return tensor;
}

}  // namespace

Result<std::vector<float>> float_values(const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kFloat)
    return std::vector<float>(tensor.data<float>().begin(), tensor.data<float>().end());
  if (tensor.type() != ElementType::kFloat16)
    return internal_error("a constant of type ", name(tensor.type()), " is quantized");
  std::vector<float> values;
  for (const uint16_t half : tensor.data<uint16_t>()) values.push_back(float_from_float16(half));
  return values;
}

ir::Tensor store_codes(const std::vector<int32_t>& codes, ElementType type, const ir::Shape& dims) {
  switch (bits(type)) {
    case 8: return store_as<uint8_t>(codes, type, dims);
    case 16: return store_as<uint16_t>(codes, type, dims);
    default: return store_as<uint32_t>(codes, type, dims);
  }
}

}  // namespace quarkq::passes
