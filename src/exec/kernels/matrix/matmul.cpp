// SPDX-License-Identifier: MIT
// MatMul and Gemm as 1x1 convolutions over [1, K, M, 1] channels-last, whose memory is exactly the row-major matrix
// [M, K]: as fast as oneDNN's own product, and bitwise stable over threads, which that is not.
// 16-bit floats are computed in float32 and rounded once; doubles and integers have their own loops.
#include "exec/kernels/matrix/matmul.h"

#include <algorithm>
#include <limits>

#include "exec/convolution.h"
#include "exec/kernels/shared/kernel_shapes.h"
#include "exec/kernels/shared/type_bridges.h"
#include "exec/op_def.h"
#include "exec/transpose.h"

namespace quarkq::exec {

Status BatchProduct::prepare_float() {
  constexpr double kSmall = 16384;  // multiplications of one matrix that cost less than a call of oneDNN
  if (static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) < kSmall) return Status();
  QQ_TRY(convolution, Convolution::make(product_problem(m, k, n, /*stride_k=*/n, /*stride_n=*/1), nullptr));
  return Status();
}

void BatchProduct::run(const float* a, const float* b, float* c, std::byte* scratch) const {
  if (convolution == nullptr) return run_plain(a, b, c);
  for (int64_t i = 0; i < batch; ++i) {
    convolution->run({a + i * m * k, b + i * k * n, nullptr, {}, c + i * m * n, scratch});
  }
}

namespace {

/// The product of one entry of the batch; with packed weights when `b` is not null.
Result<std::shared_ptr<Convolution>> make_product(const Prepare& p, const MatrixProduct& product, bool has_bias,
                                                  const float* b) {
  ConvProblem problem = product_problem(product.m, product.k, product.n, product.b_stride_k, product.b_stride_n);
  problem.has_bias = has_bias;
  if (p.integers() != nullptr) return integer_convolution(problem, *p.integers()).context(p.label());
  return Convolution::make(problem, b).context(p.label());
}

/// Element offsets of the matrices of one operand, of `size` elements each, for every entry of the batch.
std::vector<int64_t> matrix_offsets(const ir::Shape& batch, const ir::Shape& own, int64_t size) {
  std::vector<int64_t> offsets = matrix_numbers(batch, own);
  for (int64_t& offset : offsets) offset *= size;
  return offsets;
}

/// One matrix B for all of A, whose batch becomes more rows.
Result<Kernel> prepare_shared_matrix(Prepare& p, MatrixProduct product, int64_t entries) {
  product.m *= entries;
  if (!multiplies_in_float(p.in(0).type)) return multiply_numbers(p.in(0).type, product);
  const ir::Tensor weights = float_constant(p, 1);
  const bool known = weights.is_defined();
  QQ_TRY(std::shared_ptr<Convolution> convolution,
         make_product(p, product, /*has_bias=*/false, known ? weights.data<float>().data() : nullptr));
  Kernel kernel = [convolution](const Run& run) {
    convolution->run({run.in<float>(0), run.in<float>(1), nullptr, {}, run.out<float>(0), run.scratch, run.inputs[0]});
    return Status();
  };
  return bridged(p, std::move(kernel), convolution->scratch_bytes(), known ? uint32_t{1} << 1 : 0);
}

Result<Kernel> prepare_matmul(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_factor(p, 0));
  const ElementType type = p.in(0).type;
  QQ_RETURN_IF_ERROR(p.require_input(1, {type}));
  QQ_TRY(const MatMulShapes s, read_matmul(p));
  p.out(0, type, s.out);
  if (product(s.out) == 0) return no_kernel();
  if (s.k == 0) {
    const auto bytes = static_cast<size_t>(storage_bytes(type, product(s.out)));
    return Kernel([bytes](const Run& run) {
      std::memset(run.outputs[0], 0, bytes);
      return Status();
    });
  }
  MatrixProduct one{s.m, s.k, s.n, /*a_stride_m=*/s.k, 1, /*b_stride_k=*/s.n};
  if (product(s.batch_right) == 1) return prepare_shared_matrix(p, std::move(one), product(s.batch_left));
  QQ_RETURN_IF_ERROR(check_dims(p, s.batch, /*element_bits=*/128));  // two offsets for every matrix
  one.a_offsets = matrix_offsets(s.batch, s.batch_left, s.m * s.k);
  one.b_offsets = matrix_offsets(s.batch, s.batch_right, s.k * s.n);
  if (!multiplies_in_float(type)) return multiply_numbers(type, one);
  QQ_TRY(std::shared_ptr<Convolution> convolution, make_product(p, one, /*has_bias=*/false, nullptr));
  Kernel kernel = [convolution, one](const Run& run) {
    for (size_t i = 0; i < one.a_offsets.size(); ++i) {
      convolution->run({run.in<float>(0) + one.a_offsets[i],
                        run.in<float>(1) + one.b_offsets[i],
                        nullptr,
                        {},
                        run.out<float>(0) + static_cast<int64_t>(i) * one.m * one.n,
                        run.scratch});
    }
    return Status();
  };
  return bridged(p, std::move(kernel), convolution->scratch_bytes());
}

// ---- Gemm -----------------------------------------------------------------------------------------------------------

Status read_gemm(const Prepare& p, GemmPlan& g) {
  QQ_RETURN_IF_ERROR(require_factor(p, 0));
  QQ_RETURN_IF_ERROR(p.require_input(1, {p.in(0).type}));
  const bool transpose_a = p.node().int_or("transA", 0) != 0, transpose_b = p.node().int_or("transB", 0) != 0;
  QQ_TRY(const MatMulShapes s, read_gemm_matrices(p, {0, 1, transpose_a, transpose_b}));
  MatrixProduct& product = g.product;
  product.m = s.m;
  product.k = s.k;
  product.n = s.n;
  product.a_stride_m = transpose_a ? 1 : product.k;
  product.a_stride_k = transpose_a ? product.m : 1;
  product.b_stride_k = transpose_b ? 1 : product.n;
  product.b_stride_n = transpose_b ? product.k : 1;
  return Status();
}

/// C, alpha and beta. The `broadcast` attribute of opset 6 only permits what later opsets always do.
Status read_addend(const Prepare& p, GemmPlan& g) {
  g.alpha = p.node().float_or("alpha", 1.0f);
  g.beta = p.node().float_or("beta", 1.0f);
  if (!p.has(2)) return Status();
  QQ_RETURN_IF_ERROR(p.require_input(2, {p.in(0).type}));
  ir::Shape c = p.in(2).dims;
  while (c.size() < 2) c.insert(c.begin(), 1);
  if (c.size() != 2 || (c[0] != 1 && c[0] != g.product.m) || (c[1] != 1 && c[1] != g.product.n)) {
    return p.corrupt("C ", shape_text(p.in(2).dims), " does not broadcast to ", shape_text({g.product.m, g.product.n}));
  }
  g.has_c = g.beta != 0.0f;
  g.c_stride_n = c[1] == 1 ? 0 : 1;
  g.c_stride_m = c[0] == 1 ? 0 : c[1];
  return Status();
}

/// y = alpha * y + beta * C
void add_addend(const GemmPlan& g, const float* c, float* y) {
  const int64_t n = g.product.n;
  for_rows(g.product.m, n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const float added = c == nullptr ? 0.0f : g.beta * c[i * g.c_stride_m + j * g.c_stride_n];
        y[i * n + j] = g.alpha * y[i * n + j] + added;
      }
    }
  });
}

/// What is constant is folded into the packed weights and the bias.
Result<Kernel> prepare_float_gemm(Prepare& p, const GemmPlan& g) {
  const ir::Tensor weights = float_constant(p, 1);
  const bool known = weights.is_defined();
  const bool bias_inside = g.has_c && g.c_stride_m == 0 && g.c_stride_n == 1 && g.alpha == 1.0f && g.beta == 1.0f;
  QQ_TRY(std::shared_ptr<Convolution> convolution,
         make_product(p, g.product, bias_inside, known ? weights.data<float>().data() : nullptr));
  const bool transpose_a = g.product.a_stride_k != 1;
  const size_t own = (convolution->scratch_bytes() + 63) / 64 * 64;
  const size_t turned_bytes = transpose_a ? static_cast<size_t>(g.product.m * g.product.k) * sizeof(float) : 0;
  Kernel kernel = [=](const Run& run) {
    const float* a = run.in<float>(0);
    if (transpose_a) {
      transpose_matrices(run.inputs[0], run.scratch + own, {1, g.product.k, g.product.m, sizeof(float)});
      a = reinterpret_cast<const float*>(run.scratch + own);
    }
    float* y = run.out<float>(0);
    convolution->run(
        {a, run.in<float>(1), bias_inside ? run.in<float>(2) : nullptr, {}, y, run.scratch, run.inputs[0]});
    if (bias_inside || (!g.has_c && g.alpha == 1.0f)) return Status();
    add_addend(g, g.has_c ? run.in<float>(2) : nullptr, y);
    return Status();
  };
  return bridged(p, std::move(kernel), own + turned_bytes, known ? uint32_t{1} << 1 : 0);
}

Result<Kernel> prepare_gemm(Prepare& p) {
  GemmPlan g;
  QQ_RETURN_IF_ERROR(read_gemm(p, g));
  QQ_RETURN_IF_ERROR(read_addend(p, g));
  const ElementType type = p.in(0).type;
  p.out(0, type, {g.product.m, g.product.n});
  if (g.product.m == 0 || g.product.n == 0) return no_kernel();
  if (!multiplies_in_float(type)) return gemm_numbers(type, g);
  if (g.product.k == 0) return bridged(p, gemm_numbers(ElementType::kFloat, g));
  return prepare_float_gemm(p, g);
}

}  // namespace

std::span<const OpDef> matmul_ops() {
  static constexpr OpDef kOps[] = {
      {"MatMul", "", 1, LayoutRule::kPlain, prepare_matmul},
      {"Gemm", "", 1, LayoutRule::kPlain, prepare_gemm},
  };
  return kOps;
}

namespace {

template <typename T, bool kInteger = std::is_integral_v<T>>
struct Sum {
  using type = T;
};
template <typename T>
struct Sum<T, true> {
  using type = std::make_unsigned_t<T>;  ///< wraps without being undefined
};

/// One row of the product.
template <typename T>
void multiply_row(const MatrixProduct& p, const T* a, const T* b, T* y) {
  using S = typename Sum<T>::type;
  std::fill_n(y, p.n, T(0));
  if (p.b_stride_n == 1) {
    for (int64_t k = 0; k < p.k; ++k) {
      const S factor = static_cast<S>(a[k * p.a_stride_k]);
      const T* row = b + k * p.b_stride_k;
      for (int64_t j = 0; j < p.n; ++j) y[j] = static_cast<T>(static_cast<S>(y[j]) + factor * static_cast<S>(row[j]));
    }
    return;
  }
  for (int64_t j = 0; j < p.n; ++j) {
    const T* column = b + j * p.b_stride_n;
    S sum = 0;
    for (int64_t k = 0; k < p.k; ++k) {
      sum += static_cast<S>(a[k * p.a_stride_k]) * static_cast<S>(column[k * p.b_stride_k]);
    }
    y[j] = static_cast<T>(sum);
  }
}

template <typename T>
T scaled(float factor, T value) {
  if (factor == 1.0f) return value;
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(factor) * value;
  } else {
    const double product = static_cast<double>(factor) * static_cast<double>(value);
    constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::lowest());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
    if (!(product > kLow)) return std::numeric_limits<T>::lowest();
    return product >= kHigh ? std::numeric_limits<T>::max() : static_cast<T>(product);
  }
}

template <typename T>
void finish_row(const GemmPlan& plan, const T* c, T* y) {
  using S = typename Sum<T>::type;
  for (int64_t j = 0; j < plan.product.n; ++j) {
    const T added = c == nullptr ? T(0) : scaled(plan.beta, c[j * plan.c_stride_n]);
    y[j] = static_cast<T>(static_cast<S>(scaled(plan.alpha, y[j])) + static_cast<S>(added));
  }
}

template <typename F>
Kernel for_factor_type(ElementType type, const F& make) {
  switch (type) {
    case ElementType::kFloat: return make(TypeTag<float>());
    case ElementType::kDouble: return make(TypeTag<double>());
    case ElementType::kInt32: return make(TypeTag<int32_t>());
    case ElementType::kUInt32: return make(TypeTag<uint32_t>());
    case ElementType::kInt64: return make(TypeTag<int64_t>());
    default: return make(TypeTag<uint64_t>());
  }
}

}  // namespace

Kernel multiply_numbers(ElementType type, const MatrixProduct& product) {
  return for_factor_type(type, [&product](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return [p = product](const Run& run) {
      const auto entries = static_cast<int64_t>(p.a_offsets.size());
      for_rows(entries * p.m, p.k * p.n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto entry = static_cast<size_t>(i / p.m);
          const T* a = run.in<T>(0) + p.a_offsets[entry] + i % p.m * p.a_stride_m;
          multiply_row(p, a, run.in<T>(1) + p.b_offsets[entry], run.out<T>(0) + i * p.n);
        }
      });
      return Status();
    };
  });
}

Kernel gemm_numbers(ElementType type, const GemmPlan& plan) {
  return for_factor_type(type, [&plan](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return [plan](const Run& run) {
      const MatrixProduct& p = plan.product;
      for_rows(p.m, p.k * p.n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T* y = run.out<T>(0) + i * p.n;
          multiply_row(p, run.in<T>(0) + i * p.a_stride_m, run.in<T>(1), y);
          finish_row(plan, plan.has_c ? run.in<T>(2) + i * plan.c_stride_m : nullptr, y);
        }
      });
      return Status();
    };
  });
}

}  // namespace quarkq::exec
