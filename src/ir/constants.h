// SPDX-License-Identifier: MIT
// Arguments that were attributes in older opsets and are inputs in newer ones: axes, pads, split sizes, limits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// The integers of `attribute`, or of the constant at `input`. Empty when neither is given, nothing when computed.
std::optional<std::vector<int64_t>> integers_of(const ir::Graph& graph, const ir::Node& node, size_t input,
                                                const char* attribute);
/// The number of `attribute`, or of the one-element constant at `input`; `absent` when neither is given, nothing when
/// computed.
std::optional<double> number_of(const ir::Graph& graph, const ir::Node& node, size_t input, const char* attribute,
                                double absent);

// Stored weights that passes rewrite: which ones may be, and how the float32 result is stored in the model's type.

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
