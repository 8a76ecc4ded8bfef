// SPDX-License-Identifier: MIT
// Runs one operator the way the executor would: prepare, buffers, kernel; in either memory layout. Inputs and outputs
// of the call are always in ONNX order, so that a test can compare layouts directly.
#pragma once

#include <cstdint>
#include <optional>

#include "exec/op_def.h"

namespace quarkq::test {

struct OpCall {
  std::string op = {};
  std::string domain = {};
  int64_t opset = 21;
  std::vector<ir::Attribute> attributes = {};
  size_t outputs = 1;
  exec::Layout layout = exec::Layout::kPlain;
  /// Inputs that prepare may not read before it has returned Prepare::defer() once.
  bool unknown_inputs = false;
};

/// An undefined tensor among `inputs` is an absent optional input. Fails when no row, prepare or kernel takes the call.
/// Where the operator lets an output use an input's memory, it does.
Result<std::vector<ir::Tensor>> run_op(const OpCall& call, const std::vector<ir::Tensor>& inputs);

/// The tensor with dimensions moved as `layout` asks, and back.
ir::Tensor to_layout(const ir::Tensor& tensor, exec::Layout layout);
ir::Tensor from_layout(const ir::Tensor& stored, exec::Layout layout);

inline ir::Attribute attribute(std::string name, ir::AttributeValue value) {
  return {std::move(name), std::move(value), {}, {}};
}

inline ir::Attribute number(std::string name, int64_t value) { return attribute(std::move(name), value); }
inline ir::Tensor floats(ir::Shape dims, const std::vector<float>& values) {
  return ir::Tensor::from<float>(std::move(dims), values);
}
inline ir::Tensor ints(ir::Shape dims, const std::vector<int64_t>& values) {
  return ir::Tensor::from<int64_t>(std::move(dims), values);
}
inline ir::Tensor ints(const std::vector<int64_t>& values) {
  return ints({static_cast<int64_t>(values.size())}, values);
}
inline ir::Tensor bools(ir::Shape dims, const std::vector<int>& values) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kBool, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i) tensor.mutable_data<uint8_t>()[i] = values[i] != 0;
  return tensor;
}
/// Reproducible values, uniform in [low, high).
ir::Tensor random_floats(ir::Shape dims, float low = -2.0f, float high = 2.0f, uint32_t seed = 1);
/// `tensor` (float32) with every element rounded to another real type.
ir::Tensor as_type(const ir::Tensor& tensor, ElementType type);

/// Elements as doubles; stops the test program when there are none.
std::vector<double> values(const ir::Tensor& tensor);

}  // namespace quarkq::test
