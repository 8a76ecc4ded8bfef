// SPDX-License-Identifier: MIT
#include "exec/kernels/matrix/matmul.h"

#include <limits>

namespace quarkq::exec {
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
