// SPDX-License-Identifier: MIT
// MatMul + Add becomes a Gemm, with a Reshape on either side where the input has more than two dimensions.
#include "rewrite/fold_affine.h"
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
  ir::Shape dims;  ///< Dimensions of the input.
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

// Gemm -> Reshape -> Mul or Add of a constant: the constant is folded into the weights and bias of the Gemm.

namespace {

using ir::Tensor;

/// Gemm -> Reshape -> Mul or Add of a constant.
struct Chain {
  const ir::Node* gemm = nullptr;
  const ir::Node* reshape = nullptr;
  const Tensor* operand = nullptr;
  const Tensor* weights = nullptr;  ///< [N, K]
  const Tensor* bias = nullptr;     ///< null: the Gemm has none
};

std::optional<Chain> chain_at(const Sweep& sweep, const ir::Node& last) {
  for (const size_t side : {0u, 1u}) {
    Chain chain;
    chain.reshape = sweep.sole_producer(last.input(side), "Reshape");
    chain.operand = sweep.float_constant(last.input(1 - side));
    if (chain.reshape == nullptr || chain.operand == nullptr) continue;
    chain.gemm = sweep.sole_producer(chain.reshape->input(0), "Gemm");
    if (chain.gemm == nullptr) return std::nullopt;
    chain.weights = sweep.float_constant(chain.gemm->input(1));
    chain.bias = sweep.float_constant(chain.gemm->input(2));
    if (chain.weights == nullptr || chain.weights->rank() != 2) return std::nullopt;
    if (chain.gemm->input(2).valid() && chain.bias == nullptr) return std::nullopt;
    return chain;
  }
  return std::nullopt;
}

/// One value for each of the `count` columns of the Gemm's result, as the reshaped tensor broadcasts it; nothing when
/// it does not.
std::optional<std::vector<double>> per_column(const Sweep& sweep, const Chain& chain, int64_t count, bool any_rank) {
  const Tensor& operand = *chain.operand;
  const auto size = static_cast<size_t>(count);
  const auto shape = sweep.scope.integers(chain.reshape->input(1));
  if (operand.size() == 1 &&
      (operand.rank() == 0 || (any_rank && shape && operand.rank() <= static_cast<int64_t>(shape->size()))))
    return std::vector<double>(size, operand.data<float>()[0]);
  if (operand.rank() != 1 || operand.size() != count || !shape || shape->empty() || shape->back() != count)
    return std::nullopt;
  return std::vector<double>(operand.data<float>().begin(), operand.data<float>().end());
}

/// Returns the folded bias as one row of `count` columns. A missing bias counts as zeros, whose sign a sum loses.
std::optional<Tensor> folded_row(const Tensor* bias, int64_t count, const ChannelAffine& affine) {
  std::vector<float> row(static_cast<size_t>(count), 0.0f);
  if (bias != nullptr) {
    if (bias->size() != 1 && (bias->size() != count || bias->dims().back() != count)) return std::nullopt;
    for (size_t c = 0; c < row.size(); ++c) row[c] = bias->data<float>()[bias->size() == 1 ? 0 : c];
  }
  const Tensor whole = Tensor::from<float>({count}, row);
  return Tensor::from<float>({count}, fold_into_bias(&whole, affine));
}

struct NewOperands {
  std::optional<Tensor> weights, bias;
  ir::ValueId stored_bias = {};  ///< instead of `bias`: a constant of the graph
};

/// Replaces the three nodes by Gemm and Reshape with new weights and bias; readers of the last node read the Reshape.
Rewrite rewritten_gemm(const Sweep& sweep, const Chain& chain, const ir::Node& last, NewOperands operands) {
  Rewrite rewrite;
  rewrite.in_place = true;
  ir::GraphPatch& patch = rewrite.patch;
  const ir::ValueId reshaped = chain.reshape->output(0);
  const std::string& name = sweep.scope.name(reshaped);
  const ir::Node& gemm = *chain.gemm;
  ir::GraphPatch::PatchNode changed{gemm.op, gemm.domain, gemm.name, {}, {gemm.output(0)}, gemm.attributes};
  changed.inputs = {gemm.input(0), gemm.input(1)};
  if (operands.weights) changed.inputs[1] = patch.initializer(name + "_weight_fused", std::move(*operands.weights));
  if (operands.bias) changed.inputs.push_back(patch.initializer(name + "_bias_fused", std::move(*operands.bias)));
  if (operands.stored_bias.valid()) changed.inputs.emplace_back(operands.stored_bias);
  patch.remove(gemm.id);
  patch.remove(last.id);
  patch.node(std::move(changed));
  patch.replace(last.output(0), reshaped);
  return rewrite;
}

}  // namespace

std::optional<Rewrite> fuse_gemm_mul(const Sweep& sweep, const ir::Node& mul) {
  const std::optional<Chain> chain = chain_at(sweep, mul);
  if (!chain || chain->gemm->int_or("transA", 0) != 0 || chain->gemm->int_or("transB", 0) != 1) return std::nullopt;
  const int64_t columns = chain->weights->dims()[0], inner = chain->weights->dims()[1];
  const auto factors = per_column(sweep, *chain, columns, /*any_rank=*/false);
  if (!factors) return std::nullopt;
  const ChannelAffine affine{*factors};
  Tensor weights = fold_into_weight(*chain->weights, {columns, inner}, affine);
  std::optional<Tensor> bias;
  if (chain->bias != nullptr) {
    bias = folded_row(chain->bias, columns, affine);
    if (!bias) return std::nullopt;
  }
  return rewritten_gemm(sweep, *chain, mul, {std::move(weights), std::move(bias)});
}

std::optional<Rewrite> fuse_gemm_add(const Sweep& sweep, const ir::Node& add) {
  const std::optional<Chain> chain = chain_at(sweep, add);
  if (!chain || chain->gemm->float_or("beta", 1.0f) != 1.0f) return std::nullopt;
  const int64_t columns = chain->weights->dims()[chain->gemm->int_or("transB", 0) != 0 ? 0 : 1];
  const auto addends = per_column(sweep, *chain, columns, /*any_rank=*/true);
  if (!addends) return std::nullopt;
  const ir::ValueId operand = add.input(add.input(0) == chain->reshape->output(0) ? 1 : 0);
  if (chain->bias == nullptr && chain->operand->rank() == 1 && chain->operand->size() == columns)
    return rewritten_gemm(sweep, *chain, add, {std::nullopt, std::nullopt, operand});
  const ChannelAffine affine{std::vector<double>(addends->size(), 1.0), *addends};
  std::optional<Tensor> bias = folded_row(chain->bias, columns, affine);
  if (!bias) return std::nullopt;
  return rewritten_gemm(sweep, *chain, add, {std::nullopt, std::move(bias)});
}

}  // namespace quarkq::rewrite::simplify
