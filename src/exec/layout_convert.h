// SPDX-License-Identifier: MIT
// Whole tensors from one layout to another.
#pragma once

#include "exec/layout.h"
#include "ir/tensor.h"

namespace quarkq::exec {

/// `tensor`, which lies in ONNX order, as it lies in `layout`, dims too. The buffer is shared when nothing moves.
/// REQUIRES: elements of whole bytes, unless nothing moves.
ir::Tensor in_layout(const ir::Tensor& tensor, Layout layout);
/// The way back.
ir::Tensor in_onnx_order(const ir::Tensor& stored, Layout layout);

}  // namespace quarkq::exec
