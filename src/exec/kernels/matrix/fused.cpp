// SPDX-License-Identifier: MIT
// Operators of com.microsoft that optimizers make out of several: BiasGelu, FastGelu, FusedMatMul. Those of one input
// are in activation.cpp, SkipLayerNormalization is in norm_rows.cpp.
#include "exec/kernels/elementwise/unary_loops.h"
#include "exec/kernels/matrix/matmul.h"
#include "exec/kernels/shared/kernel_shapes.h"
#include "exec/kernels/shared/tensor_copy.h"
#include "exec/kernels/shared/type_bridges.h"
#include "exec/op_def.h"
#include "ir/quantizing_ops.h"

namespace quarkq::exec {
namespace {

/// y = op(x + bias), bias along the last dimension and optional.
Result<Kernel> biased_kernel(Prepare& p, Unary op) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  if (x.rank() < 1) return p.corrupt("input 0 has rank 0, allowed: 1 and more");
  const int64_t n = x.dims.back(), rows = product(x.dims, 0, x.rank() - 1);
  if (p.has(1)) {
    QQ_RETURN_IF_ERROR(require_real(p, 1));
    if (p.in(1).dims != ir::Shape{n}) return p.corrupt("bias is ", shape_text(p.in(1).dims), ", must be [", n, "]");
  }
  p.out(0, x.type, x.dims);
  if (x.type == ElementType::kFloat) p.in_place(0, 0);
  return bridged(p, [rows, n, op, has_bias = p.has(1)](const Run& run) {
    for_rows(rows, 4 * n, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const float* x_row = run.in<float>(0) + r * n;
        float* y = run.out<float>(0) + r * n;
        for (int64_t i = 0; has_bias && i < n; ++i) y[i] = x_row[i] + run.in<float>(1)[i];
        QQ_DISPATCH(exec, unary_loop)({op}, has_bias ? y : x_row, y, n);
      }
    });
    return Status();
  });
}

Result<Kernel> prepare_bias_gelu(Prepare& p) {
  if (!p.has(1)) return p.corrupt("input 1 is missing");
  return biased_kernel(p, Unary::kGelu);
}
Result<Kernel> prepare_fast_gelu(Prepare& p) { return biased_kernel(p, Unary::kGeluTanh); }

// ---- FusedMatMul ----------------------------------------------------------------------------------------------------

/// A copy of input `i` as a batch of row-major matrices, broadcast to `batch`.
CopyPlan arrange_matrices(const Prepare& p, size_t i, const ir::Shape& batch, bool transposed) {
  const ir::Shape& dims = p.in(i).dims;
  const std::vector<int64_t> strides = row_major_strides(dims);
  const size_t rank = dims.size(), missing = batch.size() + 2 - rank;
  CopySpec spec;
  for (size_t d = 0; d < batch.size(); ++d) {
    const bool stays = d >= missing && dims[d - missing] != 1;
    spec.dims.push_back(batch[d]);
    spec.from_strides.push_back(stays ? strides[d - missing] : 0);
  }
  const size_t rows = transposed ? rank - 1 : rank - 2, columns = transposed ? rank - 2 : rank - 1;
  spec.dims.insert(spec.dims.end(), {dims[rows], dims[columns]});
  spec.from_strides.insert(spec.from_strides.end(), {strides[rows], strides[columns]});
  spec.to_strides = row_major_strides(spec.dims);
  return plan_copy(spec, sizeof(float));
}

struct FusedProduct {
  BatchProduct product;
  CopyPlan a, b;
  bool copies_a = false, copies_b = false;
  float alpha = 1;
  size_t a_offset = 0, b_offset = 0, bytes = 0;  ///< of scratch memory
};

Result<FusedProduct> plan_fused_product(Prepare& p) {
  const ir::Shape &a = p.in(0).dims, &b = p.in(1).dims;
  const bool turn_a = p.node().int_or("transA", 0) != 0, turn_b = p.node().int_or("transB", 0) != 0;
  if (a.size() < 2 || b.size() < 2)
    return p.cannot(shape_text(a), " times ", shape_text(b), ", allowed: rank 2 and more");
  QQ_TRY(const MatMulShapes s, read_matmul(p, {0, 1, turn_a, turn_b}));
  FusedProduct f;
  f.alpha = p.node().float_or("alpha", 1.0f);
  QQ_TRY(f.product.batch, ir::element_count(s.batch).context(p.label()));
  f.product.m = s.m;
  f.product.k = s.k;
  f.product.n = s.n;
  for (const int64_t side : {f.product.m, f.product.n}) {
    QQ_RETURN_IF_ERROR(check_dims(p, {f.product.batch, side, f.product.k}));
  }
  p.out(0, p.in(0).type, s.out);
  const bool one_b = product(s.batch_right) == 1;
  f.copies_a = turn_a || s.batch_left != s.batch;
  f.copies_b = turn_b || (!one_b && s.batch_right != s.batch);
  f.a = arrange_matrices(p, 0, s.batch, turn_a);
  f.b = arrange_matrices(p, 1, one_b ? ir::Shape(s.batch_right.size(), 1) : s.batch, turn_b);
  if (one_b) {
    f.product.m *= f.product.batch;
    f.product.batch = 1;
  }
  QQ_RETURN_IF_ERROR(f.product.prepare_float().context(p.label()));
  const auto sized = [](int64_t count) { return (static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64; };
  f.a_offset = (f.product.scratch_bytes() + 63) / 64 * 64;
  f.b_offset = f.a_offset + (f.copies_a ? sized(f.product.batch * f.product.m * f.product.k) : 0);
  f.bytes = f.b_offset + (f.copies_b ? sized(f.product.batch * f.product.k * f.product.n) : 0);
  return f;
}

Result<Kernel> prepare_fused_matmul(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  QQ_RETURN_IF_ERROR(p.require_input(1, {p.in(0).type}));
  for (const char* attribute : {"transBatchA", "transBatchB"}) {
    if (p.node().int_or(attribute, 0) != 0) return p.cannot(attribute, " is 1, allowed: 0");
  }
  QQ_TRY(FusedProduct f, plan_fused_product(p));
  const size_t bytes = f.bytes;
  return bridged(
      p,
      [f = std::move(f), count = product(p.output(0).spec.dims)](const Run& run) {
        const float *a = run.in<float>(0), *b = run.in<float>(1);
        float* y = run.out<float>(0);
        if (f.copies_a) {
          run_copy(f.a, run.inputs[0], run.scratch + f.a_offset);
          a = reinterpret_cast<const float*>(run.scratch + f.a_offset);
        }
        if (f.copies_b) {
          run_copy(f.b, run.inputs[1], run.scratch + f.b_offset);
          b = reinterpret_cast<const float*>(run.scratch + f.b_offset);
        }
        f.product.run(a, b, y, run.scratch);
        if (f.alpha == 1.0f) return Status();
        for_elements(count, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) y[i] *= f.alpha;
        });
        return Status();
      },
      bytes);
}

}  // namespace

std::span<const OpDef> fused_ops() {
  static constexpr OpDef kOps[] = {
      {"BiasGelu", ir::kMicrosoftDomain, 1, LayoutRule::kPlain, prepare_bias_gelu},
      {"FastGelu", ir::kMicrosoftDomain, 1, LayoutRule::kPlain, prepare_fast_gelu},
      {"FusedMatMul", ir::kMicrosoftDomain, 1, LayoutRule::kPlain, prepare_fused_matmul},
  };
  return kOps;
}

}  // namespace quarkq::exec
