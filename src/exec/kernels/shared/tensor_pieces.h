// SPDX-License-Identifier: MIT
// Cutting tensors along an axis and putting them together, for operators that work on whole values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::exec {

/// Entries [begin, end) of `axis`. REQUIRES: 0 <= begin <= end <= dims[axis]. Fails for types of less than 8 bits.
Result<ir::Tensor> cut(const ir::Tensor& tensor, int64_t axis, int64_t begin, int64_t end);
/// `tensors` one after the other along `axis`; they agree in type and in all other dims, or it fails.
/// REQUIRES: at least one tensor.
Result<ir::Tensor> concatenate(std::span<const ir::Tensor> tensors, int64_t axis);
/// `tensors`, all of one type and shape, as entries of a new axis.
Result<ir::Tensor> stack(std::span<const ir::Tensor> tensors, int64_t axis);
/// `tensor` without its axis of length 1. REQUIRES: dims[axis] is 1.
ir::Tensor without_axis(const ir::Tensor& tensor, int64_t axis);

}  // namespace quarkq::exec
