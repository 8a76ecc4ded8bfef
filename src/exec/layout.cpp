// SPDX-License-Identifier: MIT
#include "exec/layout.h"

#include "exec/transpose.h"

namespace quarkq::exec {

namespace {

/// `tensor` under `dims`, all but its first dimension seen as a matrix [rows, columns] that is transposed.
ir::Tensor moved(const ir::Tensor& tensor, ir::Shape dims, int64_t rows, int64_t columns) {
  if (rows == 1 || columns == 1 || tensor.size() == 0) return tensor.reshaped(std::move(dims));
  ir::Tensor out = ir::Tensor::allocate(tensor.type(), std::move(dims));
  transpose_matrices(tensor.raw(), out.mutable_raw(), {tensor.dims()[0], rows, columns, bits(tensor.type()) / 8});
  return out;
}

}  // namespace

ir::Tensor in_layout(const ir::Tensor& tensor, Layout layout) {
  if (layout == Layout::kPlain || tensor.rank() < 3 || tensor.type() == ElementType::kString) return tensor;
  const int64_t channels = tensor.dims()[1];
  const int64_t pixels = tensor.size() == 0 ? 0 : tensor.size() / tensor.dims()[0] / channels;
  return moved(tensor, stored_dims(tensor.dims(), layout), channels, pixels);
}

ir::Tensor in_onnx_order(const ir::Tensor& stored, Layout layout) {
  if (layout == Layout::kPlain || stored.rank() < 3) return stored;
  const int64_t channels = stored.dims().back();
  const int64_t pixels = stored.size() == 0 ? 0 : stored.size() / stored.dims()[0] / channels;
  return moved(stored, logical_dims(stored.dims(), layout), pixels, channels);
}

}  // namespace quarkq::exec
