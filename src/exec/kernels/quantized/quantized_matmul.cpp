// SPDX-License-Identifier: MIT
// MatMulInteger, QLinearMatMul and com.microsoft QGemm: products of bytes in exact 32-bit arithmetic.
#include "exec/kernels/quantized/quantized.h"
#include "exec/kernels/quantized/quantized_product.h"
#include "exec/kernels/shared/kernel_shapes.h"

namespace quarkq::exec {
namespace {

/// A matrix product over broadcast batches. Entry i of the batch multiplies the left matrix number left[i] with the
/// right one number right[i].
struct BatchedProduct {
  int64_t rows = 0, depth = 0, columns = 0;
  int64_t left_matrices = 1, right_matrices = 1;
  std::vector<int64_t> left, right;
  ir::Shape dims;  ///< of the result
};

Result<BatchedProduct> plan_product(const Prepare& p, size_t left, size_t right) {
  QQ_TRY(const MatMulShapes s, read_matmul(p, {left, right}));
  QQ_RETURN_IF_ERROR(check_dims(p, s.batch, /*element_bits=*/128));  // two numbers for every matrix
  BatchedProduct plan{s.m, s.k, s.n, product(s.batch_left), product(s.batch_right), {}, {}, s.out};
  plan.left = matrix_numbers(s.batch, s.batch_left);
  plan.right = matrix_numbers(s.batch, s.batch_right);
  if (plan.right_matrices == 1 && plan.left_matrices == product(s.batch)) {  // one tall product
    plan.rows *= plan.left_matrices;
    plan.left_matrices = 1;
    plan.left = plan.right = std::vector<int64_t>(plan.rows == 0 ? 0 : 1, 0);
  }
  return plan;
}

/// Bytes of both operands in 16 bits; the left ones come first in scratch memory.
struct ProductOperand {
  size_t index = 0;
  QuantInput zero_point;
  int64_t matrices = 1, rows = 0, depth = 0;
  int64_t row_stride = 0, depth_stride = 1;
  ElementType type = ElementType::kUInt8;

  size_t bytes() const { return (static_cast<size_t>(matrices * rows * depth) * sizeof(int16_t) + 63) / 64 * 64; }
  void widen(const std::byte* data, const std::vector<int32_t>& zero_points, int16_t* to) const {
    for (int64_t i = 0; i < matrices; ++i) {
      widen_matrix({data + i * rows * depth, type, rows, depth, row_stride, depth_stride}, zero_points,
                   to + i * rows * depth);
    }
  }
};

/// The operand widened once when data and zero point are constant; empty otherwise.
std::shared_ptr<const std::vector<int16_t>> widen_constant(const Prepare& p, const ProductOperand& operand) {
  const ir::Tensor* data = p.constant(operand.index);
  const ir::Tensor* zero = p.constant(operand.zero_point.index);
  if (data == nullptr || (zero == nullptr && operand.zero_point.count > 0)) return nullptr;
  std::vector<const std::byte*> inputs(p.input_count());
  if (zero != nullptr) inputs[operand.zero_point.index] = zero->raw();
  const Run run{inputs, {}, nullptr};
  auto wide = std::make_shared<std::vector<int16_t>>(static_cast<size_t>(data->size()));
  operand.widen(data->raw(), operand.zero_point.integers(run), wide->data());
  return wide;
}

/// Prepares `left` and `right` and asks for scratch; make_result(run, body) calls body with the result's description.
template <typename MakeResult>
Kernel product_kernel(Prepare& p, const BatchedProduct& plan, const ProductOperand& left, const ProductOperand& right,
                      const MakeResult& make_result) {
  auto packed = widen_constant(p, right);
  p.scratch(left.bytes() + (packed == nullptr ? right.bytes() : 0));
  return [=](const Run& run) {
    auto* left_data = reinterpret_cast<int16_t*>(run.scratch);
    left.widen(run.inputs[left.index], left.zero_point.integers(run), left_data);
    const int16_t* right_data = packed == nullptr ? nullptr : packed->data();
    if (right_data == nullptr) {
      auto* to = reinterpret_cast<int16_t*>(run.scratch + left.bytes());
      right.widen(run.inputs[right.index], right.zero_point.integers(run), to);
      right_data = to;
    }
    make_result(run, [&](ProductResult result) {
      std::byte* data = result.data;
      for (size_t i = 0; i < plan.left.size(); ++i) {
        const int64_t entry = static_cast<int64_t>(i) * plan.rows * plan.columns;
        result.data = data + entry * (bits(result.type) / 8);
        run_product({left_data + plan.left[i] * plan.rows * plan.depth,
                     right_data + plan.right[i] * plan.columns * plan.depth, plan.rows, plan.depth, plan.columns},
                    result);
      }
    });
    return Status();
  };
}

/// Operands of a plan; the right one is stored [depth, columns].
ProductOperand left_operand(const Prepare& p, const BatchedProduct& plan, size_t index, const QuantInput& zero) {
  return {index, zero, plan.left_matrices, plan.rows, plan.depth, plan.depth, 1, p.in(index).type};
}
ProductOperand right_operand(const Prepare& p, const BatchedProduct& plan, size_t index, const QuantInput& zero) {
  return {index, zero, plan.right_matrices, plan.columns, plan.depth, 1, plan.columns, p.in(index).type};
}

/// Scale and zero point of the result, read in every call.
struct Requantizer {
  QuantInput left, right, result, zero_point;
  float factor = 1;

  std::vector<float> scales(const Run& run, int64_t columns) const {
    const float divisor = result.count == 0 ? 1.0f : result.floats(run)[0];
    return product_scales(factor * left.floats(run)[0], right.floats(run), divisor, columns);
  }
};

/// Left zero points per row count rows of one matrix; a tall product would need them repeated.
Result<QuantInput> read_row_zero_point(const Prepare& p, size_t i, ElementType type, const BatchedProduct& plan) {
  return read_zero_point(p, i, type, plan.left_matrices == 1 && plan.left.size() <= 1 ? plan.rows : 1);
}

}  // namespace

Result<Kernel> prepare_matmul_integer(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_byte(p, 0));
  QQ_RETURN_IF_ERROR(require_byte(p, 1));
  QQ_TRY(const BatchedProduct plan, plan_product(p, 0, 1));
  QQ_TRY(const QuantInput left_zero, read_row_zero_point(p, 2, p.in(0).type, plan));
  QQ_TRY(const QuantInput right_zero, read_zero_point(p, 3, p.in(1).type, plan.columns));
  p.out(0, ElementType::kInt32, plan.dims);
  return product_kernel(p, plan, left_operand(p, plan, 0, left_zero), right_operand(p, plan, 1, right_zero),
                        [columns = plan.columns](const Run& run, const auto& body) {
                          ProductResult result;
                          result.data = run.outputs[0];
                          result.stride = columns;
                          body(result);
                        });
}

Result<Kernel> prepare_qlinear_matmul(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_byte(p, 0));
  QQ_RETURN_IF_ERROR(require_byte(p, 3));
  QQ_RETURN_IF_ERROR(require_byte(p, 7));
  QQ_TRY(const BatchedProduct plan, plan_product(p, 0, 3));
  Requantizer q;
  const ElementType type = p.in(7).type;
  QQ_TRY(q.left, read_scale(p, 1));
  QQ_TRY(q.right, read_scale(p, 4, plan.columns));
  QQ_TRY(q.result, read_scale(p, 6));
  QQ_TRY(q.zero_point, read_zero_point(p, 7, type));
  QQ_TRY(const QuantInput left_zero, read_zero_point(p, 2, p.in(0).type));
  QQ_TRY(const QuantInput right_zero, read_zero_point(p, 5, p.in(3).type, plan.columns));
  p.out(0, type, plan.dims);
  return product_kernel(p, plan, left_operand(p, plan, 0, left_zero), right_operand(p, plan, 3, right_zero),
                        [q, type, columns = plan.columns](const Run& run, const auto& body) {
                          const std::vector<float> scales = q.scales(run, columns);
                          ProductResult result;
                          result.type = type;
                          result.data = run.outputs[0];
                          result.stride = columns;
                          result.scale = scales.data();
                          result.zero_point = q.zero_point.integers(run)[0];
                          body(result);
                        });
}

namespace {

/// Bias of QGemm: INT32 that broadcasts to [rows, columns].
struct GemmBias {
  bool present = false;
  int64_t row = 0, column = 0;  ///< element steps
};

Result<GemmBias> read_gemm_bias(const Prepare& p, const BatchedProduct& plan) {
  GemmBias bias;
  if (!p.has(6)) return bias;
  QQ_RETURN_IF_ERROR(p.require_input(6, {ElementType::kInt32}));
  ir::Shape c = p.in(6).dims;
  while (c.size() < 2) c.insert(c.begin(), 1);
  if (c.size() != 2 || (c[0] != 1 && c[0] != plan.rows) || (c[1] != 1 && c[1] != plan.columns)) {
    return p.corrupt("C ", shape_text(p.in(6).dims), " does not broadcast to ", shape_text(plan.dims));
  }
  return GemmBias{true, c[0] == 1 ? 0 : c[1], c[1] == 1 ? 0 : 1};
}

Result<BatchedProduct> plan_gemm(const Prepare& p, bool transpose_a, bool transpose_b) {
  QQ_TRY(const MatMulShapes s, read_gemm_matrices(p, {0, 3, transpose_a, transpose_b}));
  return BatchedProduct{s.m, s.k, s.n, 1, 1, {0}, {0}, s.out};
}

}  // namespace

Result<Kernel> prepare_qgemm(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_byte(p, 0));
  QQ_RETURN_IF_ERROR(require_byte(p, 3));
  const bool transpose_a = p.node().int_or("transA", 0) != 0, transpose_b = p.node().int_or("transB", 0) != 0;
  QQ_TRY(const BatchedProduct plan, plan_gemm(p, transpose_a, transpose_b));
  Requantizer q;
  q.factor = p.node().float_or("alpha", 1.0f);
  QQ_TRY(q.left, read_scale(p, 1));
  QQ_TRY(q.right, read_scale(p, 4, plan.columns));
  const bool stays_float = !p.has(7);
  ElementType type = ElementType::kFloat;
  if (!stays_float) {
    QQ_RETURN_IF_ERROR(require_byte(p, 8));
    type = p.in(8).type;
    QQ_TRY(q.result, read_scale(p, 7));
    QQ_TRY(q.zero_point, read_zero_point(p, 8, type));
  }
  QQ_TRY(const QuantInput left_zero, read_zero_point(p, 2, p.in(0).type));
  QQ_TRY(const QuantInput right_zero, read_zero_point(p, 5, p.in(3).type, plan.columns));
  QQ_TRY(const GemmBias bias, read_gemm_bias(p, plan));
  ProductOperand left = left_operand(p, plan, 0, left_zero), right = right_operand(p, plan, 3, right_zero);
  if (transpose_a) left.row_stride = 1, left.depth_stride = plan.rows;
  if (transpose_b) right.row_stride = plan.depth, right.depth_stride = 1;
  p.out(0, type, plan.dims);
  return product_kernel(p, plan, left, right,
                        [q, type, bias, columns = plan.columns](const Run& run, const auto& body) {
                          const std::vector<float> scales = q.scales(run, columns);
                          ProductResult result;
                          result.type = type;
                          result.data = run.outputs[0];
                          result.stride = columns;
                          result.scale = scales.data();
                          result.zero_point = q.zero_point.integers(run)[0];
                          result.bias = bias.present ? run.in<int32_t>(6) : nullptr;
                          result.bias_row = bias.row;
                          result.bias_column = bias.column;
                          body(result);
                        });
}

}  // namespace quarkq::exec
