// SPDX-License-Identifier: MIT
// Stored tensors between float32, float16 and bfloat16.
#pragma once

#include "ir/tensor.h"

namespace quarkq::rewrite {

/// The same values, rounded to nearest, ties to even. What is finite stays finite: beyond the largest value of the type
/// it becomes that one. For float16, values between zero and its smallest step become that step, so that no divisor
/// becomes 0. REQUIRES: both types among the three.
ir::Tensor as_float_type(const ir::Tensor& tensor, ElementType to);

/// Whether as_float_type() keeps every finite value within rounding: none is beyond the largest one of `to`.
bool fits_float_type(const ir::Tensor& tensor, ElementType to);

}  // namespace quarkq::rewrite
