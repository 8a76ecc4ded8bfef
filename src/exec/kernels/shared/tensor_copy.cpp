// SPDX-License-Identifier: MIT
#include "exec/kernels/shared/tensor_copy.h"

#include <cstring>

#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

namespace {

Result<size_t> whole_bytes(const ir::Tensor& tensor) {
  if (bits(tensor.type()) < 8) return unsupported("elements of type ", name(tensor.type()), " cannot be moved");
  return static_cast<size_t>(bits(tensor.type())) / 8;
}

}  // namespace

Result<ir::Tensor> cut(const ir::Tensor& tensor, int64_t axis, int64_t begin, int64_t end) {
  QQ_TRY(const size_t width, whole_bytes(tensor));
  const AxisView view = axis_view(tensor.dims(), axis);
  ir::Shape dims = tensor.dims();
  dims[static_cast<size_t>(axis)] = end - begin;
  ir::Tensor piece = ir::Tensor::allocate(tensor.type(), std::move(dims));
  if (piece.size() == 0) return piece;
  const size_t row = static_cast<size_t>(view.inner) * width;
  const size_t taken = static_cast<size_t>(end - begin) * row;
  std::byte* out = piece.mutable_raw();
  for (int64_t o = 0; o < view.outer; ++o, out += taken) {
    std::memcpy(out, tensor.raw() + static_cast<size_t>(o * view.count + begin) * row, taken);
  }
  return piece;
}

Result<ir::Tensor> concatenate(std::span<const ir::Tensor> tensors, int64_t axis) {
  const ir::Tensor& first = tensors.front();
  QQ_TRY(const size_t width, whole_bytes(first));
  ir::Shape dims = first.dims();
  int64_t& length = dims[static_cast<size_t>(axis)];
  length = 0;
  for (const ir::Tensor& tensor : tensors) {
    ir::Shape others = tensor.dims();
    if (tensor.type() != first.type() || others.size() != dims.size()) {
      return corrupt_model("elements ", name(first.type()), shape_text(first.dims()), " and ", name(tensor.type()),
                           shape_text(tensor.dims()), " do not fit together");
    }
    const int64_t added = others[static_cast<size_t>(axis)];
    others[static_cast<size_t>(axis)] = length;
    if (others != dims) {
      return corrupt_model("elements of shapes ", shape_text(first.dims()), " and ", shape_text(tensor.dims()),
                           " do not fit together along axis ", axis);
    }
    length += added;
  }
  QQ_RETURN_IF_ERROR(Result<int64_t>(ir::element_count(dims)).status());
  ir::Tensor joined = ir::Tensor::allocate(first.type(), dims);
  const AxisView view = axis_view(dims, axis);
  std::byte* out = joined.mutable_raw();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (const ir::Tensor& tensor : tensors) {
      const size_t bytes = static_cast<size_t>(tensor.dims()[static_cast<size_t>(axis)] * view.inner) * width;
      if (bytes == 0) continue;
      std::memcpy(out, tensor.raw() + static_cast<size_t>(o) * bytes, bytes);
      out += bytes;
    }
  }
  return joined;
}

Result<ir::Tensor> stack(std::span<const ir::Tensor> tensors, int64_t axis) {
  std::vector<ir::Tensor> rows;
  rows.reserve(tensors.size());
  for (const ir::Tensor& tensor : tensors) {
    if (axis > tensor.rank()) return corrupt_model("axis ", axis, " is outside of rank ", tensor.rank() + 1);
    ir::Shape dims = tensor.dims();
    dims.insert(dims.begin() + axis, 1);
    rows.push_back(tensor.reshaped(std::move(dims)));
  }
  return concatenate(rows, axis);
}

ir::Tensor without_axis(const ir::Tensor& tensor, int64_t axis) {
  ir::Shape dims = tensor.dims();
  dims.erase(dims.begin() + axis);
  return tensor.reshaped(std::move(dims));
}

}  // namespace quarkq::exec
