// SPDX-License-Identifier: MIT
// Layout of a tensor in memory while a program runs. ONNX order is the default. Images between convolutions are
// channels-last, which oneDNN prefers for them, needs no padding, and lets every elementwise loop run unchanged (ADR
// 0001).
#pragma once

#include <cstdint>

#include "ir/shape.h"
#include "ir/tensor.h"

namespace quarkq::exec {

enum class Layout : uint8_t {
  kPlain,         ///< row-major in ONNX dimension order
  kChannelsLast,  ///< rank >= 3: dimension 1 (channels) moved to the end, [N, spatial..., C] row-major
};

/// Dimensions in memory order.
inline ir::Shape stored_dims(const ir::Shape& dims, Layout layout) {
  if (layout == Layout::kPlain || dims.size() < 3) return dims;
  ir::Shape stored = {dims[0]};
  stored.insert(stored.end(), dims.begin() + 2, dims.end());
  stored.push_back(dims[1]);
  return stored;
}

/// Inverse of stored_dims().
inline ir::Shape logical_dims(const ir::Shape& stored, Layout layout) {
  if (layout == Layout::kPlain || stored.size() < 3) return stored;
  ir::Shape dims = {stored[0], stored.back()};
  dims.insert(dims.end(), stored.begin() + 1, stored.end() - 1);
  return dims;
}

/// Returns the position of logical dimension `axis` of a tensor of `rank` in memory order. REQUIRES: 0 <= axis < rank.
inline int64_t stored_axis(int64_t axis, int64_t rank, Layout layout) {
  if (layout == Layout::kPlain || rank < 3 || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

/// Converts `tensor` and its dims from ONNX order to `layout`. Shares the buffer if no element moves. REQUIRES:
/// elements of whole bytes, unless no element moves.
ir::Tensor in_layout(const ir::Tensor& tensor, Layout layout);
/// Converts a tensor back to ONNX order.
ir::Tensor in_onnx_order(const ir::Tensor& stored, Layout layout);

}  // namespace quarkq::exec
