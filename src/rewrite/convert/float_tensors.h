// SPDX-License-Identifier: MIT
// Conversion of stored tensors between float32, float16 and bfloat16.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/diagnostics.h"
#include "base/error.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace quarkq::rewrite {

/// Returns the values rounded to nearest, ties to even. Finite values stay finite: values beyond the range become the
/// largest value of the type. For float16, values between zero and the smallest step become that step, so that no
/// divisor becomes 0. REQUIRES: both types among these three.
ir::Tensor as_float_type(const ir::Tensor& tensor, ElementType to);

/// Returns whether as_float_type() preserves every finite value up to rounding, that is, none exceeds the largest value
/// of `to`.
bool fits_float_type(const ir::Tensor& tensor, ElementType to);

// Casts that have become redundant after a change of type.

/// Removes Casts to the type of their input. Keeps a Cast between a graph's input or stored value and its output.
void remove_idle_casts(ir::Graph& graph);

/// Conversion of float16 tensors to float32, for passes that convert a whole model or parts of it.
struct WidenedHalves {
  bool has_halves = false;         ///< The model has float16 tensors in addition to the kept ones.
  std::optional<ir::Model> model;  ///< The converted model; absent if there are no such tensors or `why_not` is set.
  std::string why_not = {};
};

/// Returns a copy of `model` in which every float16 tensor is float32, also in nested graphs. Values in `kept` and the
/// nodes that compute them do not change.
Result<WidenedHalves> widen_halves(const ir::Model& model, const std::set<ir::ValueId>& kept, Diagnostics& diagnostics);

}  // namespace quarkq::rewrite
