// SPDX-License-Identifier: MIT
#include "onnx_io/sparse_tensor.h"

#include <algorithm>
#include <cstring>

namespace quarkq::onnx_io {
namespace {

/// Bytes up to which any tensor is made dense. Larger ones may be at most kTimesStored times the size of the stored
/// data.
constexpr int64_t kAlwaysDense = int64_t{256} << 20, kTimesStored = 64;

/// Positions of the values in the flattened dense tensor.
Result<std::vector<int64_t>> positions_of(const ir::Tensor& indices, const ir::Shape& dims, int64_t values) {
  const auto rank = static_cast<int64_t>(dims.size());
  const bool is_flat = indices.rank() == 1;
  const ir::Shape wanted = is_flat ? ir::Shape{values} : ir::Shape{values, rank};
  if (indices.type() != ElementType::kInt64 || indices.dims() != wanted) {
    return corrupt_model("sparse indices ", shape_text(indices.dims()), " of ", name(indices.type()),
                         ", must be INT64 ", shape_text({values}), " or ", shape_text({values, rank}));
  }
  if (is_flat) return ir::to_int64(indices);
  const auto coordinates = indices.data<int64_t>();
  std::vector<int64_t> positions(static_cast<size_t>(values), 0);
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const auto axis = i % static_cast<size_t>(rank);
    if (coordinates[i] < 0 || coordinates[i] >= dims[axis])
      return corrupt_model("sparse index ", coordinates[i], " of axis ", axis, ", which has ", dims[axis], " elements");
    int64_t& position = positions[i / static_cast<size_t>(rank)];
    position = position * dims[axis] + coordinates[i];
  }
  return positions;
}

Status check_size(const ir::Tensor& values, const ir::Shape& dims, int64_t stored) {
  QQ_TRY(const int64_t count, ir::element_count(dims));
  if (values.type() == ElementType::kString || bits(values.type()) < 8)
    return unsupported("sparse values of type ", name(values.type()), "; store the tensor dense");
  const int64_t element = bits(values.type()) / 8;
  const int64_t allowed = std::max(kAlwaysDense, kTimesStored * stored);
  if (count <= allowed / element) return Status();
  return resource_error("a sparse tensor of shape ", shape_text(dims), " stores ", stored, " bytes, dense it may take ",
                        allowed, "; store it dense");
}

}  // namespace

Result<ir::Tensor> take_sparse_tensor(onnx::SparseTensorProto& proto, ExternalFiles& external) {
  QQ_TRY(const ir::Tensor values, take_tensor(*proto.mutable_values(), external));
  QQ_TRY(const ir::Tensor indices, take_tensor(*proto.mutable_indices(), external));
  ir::Shape dims(proto.dims().begin(), proto.dims().end());
  if (values.rank() != 1)
    return corrupt_model("sparse values of shape ", shape_text(values.dims()), ", must be a list");
  QQ_RETURN_IF_ERROR(check_size(values, dims, values.bytes() + indices.bytes()));
  QQ_TRY(const std::vector<int64_t> positions, positions_of(indices, dims, values.size()));
  ir::Tensor dense = ir::Tensor::zeros(values.type(), std::move(dims));
  const auto element = static_cast<size_t>(bits(values.type())) / 8;
  std::byte* out = dense.mutable_raw();
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < 0 || positions[i] >= dense.size())
      return corrupt_model("sparse index ", positions[i], ", the tensor has ", dense.size(), " elements");
    std::memcpy(out + static_cast<size_t>(positions[i]) * element, values.raw() + i * element, element);
  }
  return dense;
}

}  // namespace quarkq::onnx_io
