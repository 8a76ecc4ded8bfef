// SPDX-License-Identifier: MIT
// Stored tensors between float32, float16 and bfloat16.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/diagnostics.h"
#include "base/error.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace quarkq::rewrite {

/// The same values, rounded to nearest, ties to even. What is finite stays finite: beyond the largest value of the type
/// it becomes that one. For float16, values between zero and its smallest step become that step, so that no divisor
/// becomes 0. REQUIRES: both types among the three.
ir::Tensor as_float_type(const ir::Tensor& tensor, ElementType to);

/// Whether as_float_type() keeps every finite value within rounding: none is beyond the largest one of `to`.
bool fits_float_type(const ir::Tensor& tensor, ElementType to);

// Casts that are left with nothing to do when the type around them changes.

/// Removes Casts to the type that their input has. One between a graph's input or stored value and its output stays.
void remove_idle_casts(ir::Graph& graph);

/// float16 tensors become float32, for the passes that convert a whole model or parts of one.
struct WidenedHalves {
  bool has_halves = false;         ///< the model has float16 tensors besides those that are kept
  std::optional<ir::Model> model;  ///< the converted model; absent if there are none, or `why_not` says why
  std::string why_not = {};
};

/// A copy of `model` in which every float16 tensor is float32, in nested graphs, too. Values in `kept` and the nodes
/// that compute them stay as they are.
Result<WidenedHalves> widen_halves(const ir::Model& model, const std::set<ir::ValueId>& kept, Diagnostics& diagnostics);

}  // namespace quarkq::rewrite
