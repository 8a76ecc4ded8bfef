// SPDX-License-Identifier: MIT
// MatMul + Add becomes a Gemm, with a Reshape on either side where the input has more than two dimensions.
#include "rewrite/simplify/patterns.h"

namespace quarkq::rewrite::simplify {
namespace {

using ir::Tensor;

Tensor transposed(const Tensor& matrix) {
  const int64_t rows = matrix.dims()[0], columns = matrix.dims()[1];
  Tensor result = Tensor::allocate(ElementType::kFloat, {columns, rows});
  const auto from = matrix.data<float>();
  auto to = result.mutable_data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
  }
  return result;
}

Tensor shape_tensor(const std::vector<int64_t>& dims) {
  return Tensor::from<int64_t>({static_cast<int64_t>(dims.size())}, dims);
}

/// Broadcasts to [rows, columns] without changing it.
bool fits_matrix(const Tensor& bias, int64_t rows, int64_t columns) {
  const ir::Shape& dims = bias.dims();
  if (dims.size() > 2) return false;
  if (!dims.empty() && dims.back() != 1 && dims.back() != columns) return false;
  return dims.size() < 2 || dims[0] == 1 || dims[0] == rows;
}

std::vector<ir::Attribute> gemm_attributes() {
  return {
      {"alpha", 1.0f, {}, {}}, {"beta", 1.0f, {}, {}}, {"transA", int64_t{0}, {}, {}}, {"transB", int64_t{1}, {}, {}}};
}

/// MatMul + Add with what a Gemm needs to know of them.
struct Linear {
  const ir::Node* mat_mul = nullptr;
  ir::ValueId bias;
  ir::Shape dims;  ///< of the input
  const Tensor* weights = nullptr;
};

std::optional<Linear> linear_at(const Sweep& sweep, const ir::Node& add) {
  for (const size_t side : {0u, 1u}) {
    Linear linear;
    linear.mat_mul = sweep.sole_producer(add.input(side), "MatMul");
    linear.bias = add.input(1 - side);
    const Tensor* bias = sweep.float_constant(linear.bias);
    if (linear.mat_mul == nullptr || bias == nullptr) continue;
    linear.weights = sweep.float_constant(linear.mat_mul->input(1));
    const auto dims = sweep.scope.static_shape(linear.mat_mul->input(0));
    if (linear.weights == nullptr || linear.weights->rank() != 2 || !dims || dims->size() < 2) return std::nullopt;
    linear.dims = *dims;
    const int64_t inner = dims->back();
    const Result<int64_t> size = ir::element_count(*dims);
    if (inner != linear.weights->dims()[0] || !size.ok() || size.value() == 0) return std::nullopt;
    if (!fits_matrix(*bias, size.value() / inner, linear.weights->dims()[1])) return std::nullopt;
    return linear;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Rewrite> fuse_mat_mul_add(const Sweep& sweep, const ir::Node& add) {
  const std::optional<Linear> linear = linear_at(sweep, add);
  if (!linear) return std::nullopt;
  Rewrite rewrite;
  ir::GraphPatch& patch = rewrite.patch;
  const std::string& name = sweep.scope.name(linear->mat_mul->output(0));
  const ir::ValueId input = linear->mat_mul->input(0);
  const ir::ValueType flat{ElementType::kFloat, /*has_shape=*/false, {}, {}};
  patch.remove(linear->mat_mul->id);
  patch.remove(add.id);
  const ir::PatchValue weights = patch.initializer(name + "_weight", transposed(*linear->weights));
  if (linear->dims.size() == 2) {
    patch.node({"Gemm", "", name, {input, weights, linear->bias}, {add.output(0)}, gemm_attributes()});
    return rewrite;
  }
  std::vector<int64_t> outer = linear->dims;
  outer.back() = linear->weights->dims()[1];
  const ir::PatchValue before = patch.initializer(name + "_pre_reshape_in", shape_tensor({-1, linear->dims.back()}));
  const ir::PatchValue after = patch.initializer(name + "_post_reshape_in", shape_tensor(outer));
  const ir::PatchValue rows = patch.value(name + "_pre_reshape_out", flat);
  const ir::PatchValue product = patch.value(name + "_gemm_out", flat);
  patch.node({"Reshape", "", name + "_pre_reshape", {input, before}, {rows}, {}});
  patch.node({"Gemm", "", name, {rows, weights, linear->bias}, {product}, gemm_attributes()});
  patch.node({"Reshape", "", name + "_post_reshape", {product, after}, {add.output(0)}, {}});
  return rewrite;
}

}  // namespace quarkq::rewrite::simplify
