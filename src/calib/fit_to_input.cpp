// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "calib/data_reader.h"
#include "numeric/half.h"

namespace quarkq::calib {
namespace {

template <typename T>
Result<ir::Tensor> cast_integers(const ir::Tensor& tensor, ElementType type, const std::string& file) {
  QQ_TRY(const std::vector<int64_t> values, ir::to_int64(tensor));
  ir::Tensor out = ir::Tensor::allocate(type, tensor.dims());
  auto data = out.mutable_data<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < static_cast<int64_t>(std::numeric_limits<T>::lowest()) ||
        (sizeof(T) < 8 && values[i] > static_cast<int64_t>(std::numeric_limits<T>::max()))) {
      return bad_data(file, ": value ", values[i], " does not fit the input's type ", name(type));
    }
    data[i] = static_cast<T>(values[i]);
  }
  return out;
}

Result<ir::Tensor> cast_floats(const ir::Tensor& tensor, ElementType type) {
  QQ_TRY(const std::vector<double> values, ir::to_double(tensor));
  ir::Tensor out = ir::Tensor::allocate(type, tensor.dims());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    if (type == ElementType::kFloat) out.mutable_data<float>()[i] = value;
    if (type == ElementType::kDouble) out.mutable_data<double>()[i] = values[i];
    if (type == ElementType::kFloat16) out.mutable_data<uint16_t>()[i] = float16_from_float(value);
    if (type == ElementType::kBFloat16) out.mutable_data<uint16_t>()[i] = bfloat16_from_float(value);
  }
  return out;
}

Result<ir::Tensor> cast_to(ir::Tensor tensor, ElementType type, const std::string& input, const std::string& file) {
  if (tensor.type() == type) return tensor;
  if (is_floating(tensor.type()) && is_floating(type)) return cast_floats(tensor, type);
  if (is_integer(tensor.type()) && is_integer(type)) {
    switch (type) {
      case ElementType::kInt8: return cast_integers<int8_t>(tensor, type, file);
      case ElementType::kUInt8: return cast_integers<uint8_t>(tensor, type, file);
      case ElementType::kInt16: return cast_integers<int16_t>(tensor, type, file);
      case ElementType::kUInt16: return cast_integers<uint16_t>(tensor, type, file);
      case ElementType::kInt32: return cast_integers<int32_t>(tensor, type, file);
      case ElementType::kUInt32: return cast_integers<uint32_t>(tensor, type, file);
      case ElementType::kInt64: return cast_integers<int64_t>(tensor, type, file);
      default: break;
    }
  }
  return bad_data(file, ": holds ", name(tensor.type()), ", input ", input, " takes ", name(type));
}

std::string wanted_text(const InputSpec& spec) { return shape_text(spec.dims); }

Result<ir::Tensor> fit_shape(ir::Tensor tensor, const InputSpec& spec, const std::string& file) {
  if (!spec.has_shape) return tensor;
  const auto rank = static_cast<int64_t>(spec.dims.size());
  const Result<int64_t> fixed = ir::element_count(spec.dims);  // an error when a dimension is unknown
  if (tensor.rank() == 1 && rank != 1 && fixed.ok() && fixed.value() == tensor.size())
    return tensor.reshaped(spec.dims);
  if (tensor.rank() + 1 == rank) {
    ir::Shape dims = tensor.dims();
    dims.insert(dims.begin(), 1);
    tensor = tensor.reshaped(dims);
  }
  bool fits = tensor.rank() == rank;
  for (size_t i = 0; fits && i < spec.dims.size(); ++i) {
    fits = spec.dims[i] < 0 || spec.dims[i] == tensor.dims()[i];
  }
  if (!fits) {
    return bad_data(file, ": shape ", shape_text(tensor.dims()), ", input ", spec.name, " takes ", wanted_text(spec));
  }
  return tensor;
}

}  // namespace

Result<ir::Tensor> fit_to_input(ir::Tensor tensor, const InputSpec& spec, const std::string& file) {
  QQ_TRY(ir::Tensor shaped, fit_shape(std::move(tensor), spec, file));
  return cast_to(std::move(shaped), spec.type, spec.name, file);
}

std::vector<InputSpec> input_specs(const ir::Graph& graph) {
  std::vector<InputSpec> specs;
  for (const ir::ValueId id : graph.required_inputs()) {
    const ir::Value& value = graph.value(id);
    specs.push_back({value.name, value.type.element, value.type.has_shape, value.type.shape()});
  }
  return specs;
}

}  // namespace quarkq::calib
