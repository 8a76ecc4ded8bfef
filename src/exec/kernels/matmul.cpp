// SPDX-License-Identifier: MIT
// MatMul and Gemm as 1x1 convolutions over [1, K, M, 1] channels-last, whose memory is exactly the row-major matrix
// [M, K]: as fast as oneDNN's own product, and bitwise stable over threads, which that is not (design section 7).
#include <algorithm>

#include "exec/backend_onednn.h"
#include "exec/kernels/families.h"

namespace quarkq::exec {
namespace {

/// One product C[m, n] = A[m, k] * B[k, n] (+ bias[n]); B has the strides given (elements).
struct Product {
  int64_t m = 0, k = 0, n = 0;
  int64_t stride_k = 0, stride_n = 1;
  bool has_bias = false;
};

Result<std::shared_ptr<Convolution>> make_product(const Product& product, const float* b) {
  ConvProblem problem;
  problem.source = {1, product.k, product.m, 1};
  problem.weights = {product.n, product.k, 1, 1};
  problem.result = {1, product.n, product.m, 1};
  problem.strides = problem.dilations = {1, 1};
  problem.pads_begin = problem.pads_end = {0, 0};
  problem.has_bias = product.has_bias;
  problem.weight_strides = {product.stride_n, product.stride_k, 1, 1};
  return Convolution::make(problem, b);
}

/// Product of dims [begin, end).
int64_t extent(const ir::Shape& dims, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i) count *= dims[i];
  return count;
}

/// Element offsets of the matrices of one operand, for every entry of the broadcast batch shape.
std::vector<int64_t> batch_offsets(const ir::Shape& batch, const ir::Shape& own_batch, int64_t matrix) {
  const int64_t count = extent(batch, 0, batch.size());
  std::vector<int64_t> offsets(static_cast<size_t>(count));
  for (int64_t index = 0; index < count; ++index) {
    int64_t rest = index, offset = 0, stride = matrix;
    for (size_t i = batch.size(), j = own_batch.size(); i-- > 0;) {
      const int64_t coordinate = rest % batch[i];
      rest /= batch[i];
      if (j == 0) continue;
      --j;
      if (own_batch[j] != 1) offset += coordinate * stride;
      stride *= own_batch[j];
    }
    offsets[static_cast<size_t>(index)] = offset;
  }
  return offsets;
}

Kernel zero_fill(size_t count) {
  return [count](const Run& run) {
    std::fill_n(run.out<float>(0), count, 0.0f);
    return Status();
  };
}

Result<Kernel> prepare_matmul(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kFloat}));
  QQ_RETURN_IF_ERROR(p.require_input(1, {ElementType::kFloat}));
  ir::Shape a = p.in(0).dims, b = p.in(1).dims;
  if (a.empty() || b.empty()) return p.corrupt("a scalar operand: ", shape_text(a), " times ", shape_text(b));
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k) {
    return p.corrupt("inner dimensions differ: ", shape_text(p.in(0).dims), " times ", shape_text(p.in(1).dims));
  }
  const ir::Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  Result<ir::Shape> batch = ir::broadcast(batch_a, batch_b);
  if (!batch.ok()) return batch.status().context(p.label());
  ir::Shape out = batch.value();
  if (!row) out.push_back(m);
  if (!column) out.push_back(n);
  p.out(0, ElementType::kFloat, out);
  Result<int64_t> count = ir::element_count(out);
  if (!count.ok()) return count.status().context(p.label());
  if (count.value() == 0 || k == 0) return zero_fill(static_cast<size_t>(count.value()));

  const bool one_b = extent(batch_b, 0, batch_b.size()) == 1;
  Product product{m, k, n, n, 1, false};
  if (one_b) product.m = m * extent(batch_a, 0, batch_a.size());
  const ir::Tensor* weights = one_b ? p.constant(1) : nullptr;
  Result<std::shared_ptr<Convolution>> made =
      make_product(product, weights == nullptr ? nullptr : weights->data<float>().data());
  if (!made.ok()) return made.status().context(p.label());
  std::shared_ptr<Convolution> convolution = std::move(made).value();
  p.scratch(convolution->scratch_bytes());
  if (one_b) {
    return Kernel([convolution](const Run& run) {
      convolution->run(run.in<float>(0), run.in<float>(1), nullptr, {}, run.out<float>(0), run.scratch);
      return Status();
    });
  }
  return Kernel([convolution, m, n, from_a = batch_offsets(batch.value(), batch_a, m * k),
                 from_b = batch_offsets(batch.value(), batch_b, k * n)](const Run& run) {
    for (size_t i = 0; i < from_a.size(); ++i) {
      convolution->run(run.in<float>(0) + from_a[i], run.in<float>(1) + from_b[i], nullptr, {},
                       run.out<float>(0) + static_cast<int64_t>(i) * m * n, run.scratch);
    }
    return Status();
  });
}

/// Y = alpha * A' * B' + beta * C. What is constant is folded into the packed weights and the bias.
struct Gemm {
  int64_t m = 0, k = 0, n = 0;
  float alpha = 1, beta = 1;
  bool transpose_a = false;
  int64_t c_stride_m = 0, c_stride_n = 0;  ///< elements; 0 where C is broadcast
  bool has_c = false;
};

Status read_gemm(const Prepare& p, Gemm& g, Product& product) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kFloat}));
  QQ_RETURN_IF_ERROR(p.require_input(1, {ElementType::kFloat}));
  const ir::Shape &a = p.in(0).dims, &b = p.in(1).dims;
  if (a.size() != 2 || b.size() != 2) {
    return p.corrupt("operands must have rank 2, found ", shape_text(a), " and ", shape_text(b));
  }
  g.transpose_a = p.node().int_or("transA", 0) != 0;
  const bool transpose_b = p.node().int_or("transB", 0) != 0;
  g.m = g.transpose_a ? a[1] : a[0];
  g.k = g.transpose_a ? a[0] : a[1];
  g.n = transpose_b ? b[0] : b[1];
  if ((transpose_b ? b[1] : b[0]) != g.k) {
    return p.corrupt("inner dimensions differ: ", shape_text(a), " and ", shape_text(b), " with transA ", g.transpose_a,
                     ", transB ", transpose_b);
  }
  g.alpha = p.node().float_or("alpha", 1.0f);
  g.beta = p.node().float_or("beta", 1.0f);
  g.has_c = p.has(2) && g.beta != 0.0f;
  product = {g.m, g.k, g.n, transpose_b ? 1 : g.n, transpose_b ? g.k : 1, false};
  if (!g.has_c) return Status();
  QQ_RETURN_IF_ERROR(p.require_input(2, {ElementType::kFloat}));
  ir::Shape c = p.in(2).dims;
  while (c.size() < 2) c.insert(c.begin(), 1);
  if (c.size() != 2 || (c[0] != 1 && c[0] != g.m) || (c[1] != 1 && c[1] != g.n)) {
    return p.corrupt("C ", shape_text(p.in(2).dims), " does not broadcast to ", shape_text({g.m, g.n}));
  }
  g.c_stride_n = c[1] == 1 ? 0 : 1;
  g.c_stride_m = c[0] == 1 ? 0 : c[1];
  return Status();
}

Result<Kernel> prepare_gemm(Prepare& p) {
  Gemm g;
  Product product;
  QQ_RETURN_IF_ERROR(read_gemm(p, g, product));
  p.out(0, ElementType::kFloat, {g.m, g.n});
  if (g.m == 0 || g.n == 0 || g.k == 0) return p.cannot("an operand without elements");
  const ir::Tensor* weights = p.constant(1);
  const bool bias_inside = g.has_c && g.c_stride_m == 0 && g.c_stride_n == 1 && g.alpha == 1.0f && g.beta == 1.0f;
  product.has_bias = bias_inside;
  Result<std::shared_ptr<Convolution>> made =
      make_product(product, weights == nullptr ? nullptr : weights->data<float>().data());
  if (!made.ok()) return made.status().context(p.label());
  std::shared_ptr<Convolution> convolution = std::move(made).value();
  const size_t own = (convolution->scratch_bytes() + 63) / 64 * 64;
  p.scratch(own + (g.transpose_a ? static_cast<size_t>(g.m * g.k) * sizeof(float) : 0));
  return Kernel([convolution, g, own, bias_inside](const Run& run) {
    const float* a = run.in<float>(0);
    if (g.transpose_a) {
      auto* turned = reinterpret_cast<float*>(run.scratch + own);
      for (int64_t i = 0; i < g.m; ++i) {
        for (int64_t j = 0; j < g.k; ++j) turned[i * g.k + j] = a[j * g.m + i];
      }
      a = turned;
    }
    float* y = run.out<float>(0);
    convolution->run(a, run.in<float>(1), bias_inside ? run.in<float>(2) : nullptr, {}, y, run.scratch);
    if (bias_inside || (!g.has_c && g.alpha == 1.0f)) return Status();
    const float* c = g.has_c ? run.in<float>(2) : nullptr;
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.n; ++j) {
        const float added = c == nullptr ? 0.0f : g.beta * c[i * g.c_stride_m + j * g.c_stride_n];
        y[i * g.n + j] = g.alpha * y[i * g.n + j] + added;
      }
    }
    return Status();
  });
}

}  // namespace

std::span<const OpDef> matmul_ops() {
  static constexpr OpDef kOps[] = {
      {"MatMul", "", 1, LayoutRule::kPlain, prepare_matmul},
      {"Gemm", "", 7, LayoutRule::kPlain, prepare_gemm},
  };
  return kOps;
}

}  // namespace quarkq::exec
