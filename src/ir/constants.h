// SPDX-License-Identifier: MIT
// Arguments that were attributes in older opsets and are inputs in newer ones: axes, pads, split sizes, limits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// Returns the integers of `attribute`, or of the constant at `input`. Returns an empty list if neither exists, and
/// nullopt if they are computed.
std::optional<std::vector<int64_t>> integers_of(const ir::Graph& graph, const ir::Node& node, size_t input,
                                                const char* attribute);
/// Returns the number of `attribute`, or of the one-element constant at `input`. Returns `absent` if neither exists,
/// and nullopt if it is computed.
std::optional<double> number_of(const ir::Graph& graph, const ir::Node& node, size_t input, const char* attribute,
                                double absent);

// Stored weights that passes rewrite: which weights are eligible, and storing of float32 results in the model's type.

/// Returns the float32 or float16 initializer of `value`. Returns null if there is none, or if a graph input of its
/// name can override it. float_values() reads it.
const ir::Tensor* stored_floats(const ir::Graph& graph, ir::ValueId value);

/// Returns stored_floats() if they are float32, otherwise null.
const Tensor* stored_float32(const Graph& graph, ValueId value);

/// Returns the elements of a float32 or float16 tensor as float32. Fails with kInternal for other types.
Result<std::vector<float>> float_values(const ir::Tensor& tensor);

/// The elements of a float32 or float16 tensor as float32. Refers to float32 data in place, because large weights are
/// mapped.
class FloatView {
 public:
  /// Fails for the reasons of float_values().
  static Result<FloatView> of(const ir::Tensor& tensor);
  std::span<const float> span() const { return tensor_.data<float>(); }
  operator std::span<const float>() const { return span(); }  // NOLINT(google-explicit-constructor)

 private:
  explicit FloatView(ir::Tensor tensor) : tensor_(std::move(tensor)) {}
  ir::Tensor tensor_;
};

/// Returns `values` rounded to nearest in `type`, float32 or float16. REQUIRES: as many values as elements in `dims`.
ir::Tensor store_floats(std::span<const float> values, ElementType type, const ir::Shape& dims);

}  // namespace quarkq::ir
