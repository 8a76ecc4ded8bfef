// SPDX-License-Identifier: MIT
#include "passes/stored_floats.h"

#include "numeric/half.h"

namespace quarkq::passes {

const ir::Tensor* stored_floats(const ir::Graph& graph, ir::ValueId value) {
  if (!value.valid()) return nullptr;
  const ir::Value& stored = graph.value(value);
  if (!stored.is_initializer() || stored.is_input) return nullptr;
  const ElementType type = stored.constant->type();
  return type == ElementType::kFloat || type == ElementType::kFloat16 ? &*stored.constant : nullptr;
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

}  // namespace quarkq::passes
