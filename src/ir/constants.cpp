// SPDX-License-Identifier: MIT
#include "ir/constants.h"

#include "numeric/element_type.h"

namespace quarkq::ir {

std::optional<std::vector<int64_t>> integers_of(const ir::Graph& graph, const ir::Node& node, size_t input,
                                                const char* attribute) {
  if (!node.input(input).valid()) return node.ints_or(attribute, {});
  const ir::Tensor* given = graph.constant(node.input(input));
  if (given == nullptr) return std::nullopt;
  Result<std::vector<int64_t>> values = ir::to_int64(*given);
  return values.ok() ? std::optional(std::move(values).value()) : std::nullopt;
}

std::optional<double> number_of(const ir::Graph& graph, const ir::Node& node, size_t input, const char* attribute,
                                double absent) {
  if (const auto* value = node.get<float>(attribute)) return *value;
  if (!node.input(input).valid()) return absent;
  const ir::Tensor* given = graph.constant(node.input(input));
  if (given == nullptr || given->size() != 1) return std::nullopt;
  const Result<std::vector<double>> values = ir::to_double(*given);
  return values.ok() ? std::optional(values.value()[0]) : std::nullopt;
}

const ir::Tensor* stored_floats(const ir::Graph& graph, ir::ValueId value) {
  if (!value.valid()) return nullptr;
  const ir::Value& stored = graph.value(value);
  if (!stored.is_initializer() || stored.is_input) return nullptr;
  const ElementType type = stored.constant->type();
  return type == ElementType::kFloat || type == ElementType::kFloat16 ? &*stored.constant : nullptr;
}

const Tensor* stored_float32(const Graph& graph, ValueId value) {
  const Tensor* stored = stored_floats(graph, value);
  return stored != nullptr && stored->type() == ElementType::kFloat ? stored : nullptr;
}

Result<std::vector<float>> float_values(const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kFloat)
    return std::vector<float>(tensor.data<float>().begin(), tensor.data<float>().end());
  if (tensor.type() != ElementType::kFloat16)
    return internal_error("a constant of type ", name(tensor.type()), " is quantized");
  std::vector<float> values;
  for (const uint16_t half : tensor.data<uint16_t>()) values.push_back(float_from_float16(half));
  return values;
}

Result<FloatView> FloatView::of(const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kFloat) return FloatView(tensor);
  QQ_TRY(const std::vector<float> values, float_values(tensor));
  return FloatView(ir::Tensor::from<float>(tensor.dims(), values));
}

ir::Tensor store_floats(std::span<const float> values, ElementType type, const ir::Shape& dims) {
  if (type == ElementType::kFloat) return ir::Tensor::from<float>(dims, values);
  QQ_CHECK(type == ElementType::kFloat16);
  ir::Tensor tensor = ir::Tensor::allocate(type, dims);
  auto halves = tensor.mutable_data<uint16_t>();
  QQ_CHECK(halves.size() == values.size());
  for (size_t i = 0; i < values.size(); ++i) halves[i] = float16_from_float(values[i]);
  return tensor;
}

}  // namespace quarkq::ir
