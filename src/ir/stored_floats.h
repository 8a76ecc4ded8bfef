// SPDX-License-Identifier: MIT
// Stored weights that passes rewrite: which ones may be, and how the float32 result is stored in the model's type.
#pragma once

#include <span>

#include "ir/graph.h"

namespace quarkq::ir {

/// The float32 or float16 initializer that is `value`, unless a graph input of its name can override it; else null.
/// float_values() reads it.
const ir::Tensor* stored_floats(const ir::Graph& graph, ir::ValueId value);

/// Elements of a float32 or float16 tensor as float32; kInternal for other types.
Result<std::vector<float>> float_values(const ir::Tensor& tensor);

/// The elements of a float32 or float16 tensor as float32, in place where they are float32: large weights are mapped.
class FloatView {
 public:
  /// Fails as float_values().
  static Result<FloatView> of(const ir::Tensor& tensor);
  std::span<const float> span() const { return tensor_.data<float>(); }
  operator std::span<const float>() const { return span(); }  // NOLINT(google-explicit-constructor)

 private:
  explicit FloatView(ir::Tensor tensor) : tensor_(std::move(tensor)) {}
  ir::Tensor tensor_;
};

/// `values` rounded to nearest in `type`, float32 or float16. REQUIRES: as many values as `dims` say.
ir::Tensor store_floats(std::span<const float> values, ElementType type, const ir::Shape& dims);

}  // namespace quarkq::ir
