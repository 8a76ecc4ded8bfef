// SPDX-License-Identifier: MIT
// Products of matrices as numbers of any type: private to the product family. matmul.cpp checks and plans, products of
// floats go through oneDNN, all others through the plain loops of matmul.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/convolution.h"
#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

/// Products of batches of matrices: C[i] = A[i] * B[i], row-major. Large float32 matrices are computed by oneDNN as 1x1
/// convolutions (reason: kernels/matrix/matmul.cpp), small ones and other types by plain loops.
struct BatchProduct {
  int64_t batch = 1, m = 0, k = 0, n = 0;
  std::shared_ptr<Convolution> convolution;  ///< null: plain loops

  /// Chooses how float32 matrices are multiplied.
  Status prepare_float();
  /// Bytes of scratch that run() of floats needs.
  size_t scratch_bytes() const { return convolution == nullptr ? 0 : convolution->scratch_bytes(); }
  void run(const float* a, const float* b, float* c, std::byte* scratch) const;
  /// Integers wrap. Sums run over k in order.
  template <typename T>
  void run_plain(const T* a, const T* b, T* c) const;
};

template <typename T>
void BatchProduct::run_plain(const T* a, const T* b, T* c) const {
  for_rows(batch * m, k * n, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      T* to = c + row * n;
      std::fill_n(to, n, T(0));
      for (int64_t i = 0; i < k; ++i) {
        const T factor = a[row * k + i];
        const T* from = b + (row / m * k + i) * n;
        for (int64_t j = 0; j < n; ++j) {
          if constexpr (std::is_integral_v<T>) {
            to[j] = static_cast<T>(static_cast<uint64_t>(to[j]) +
                                   static_cast<uint64_t>(factor) * static_cast<uint64_t>(from[j]));
          } else {
            to[j] += factor * from[j];
          }
        }
      }
    }
  });
}

/// C[m, n] = A[m, k] * B[k, n] for each entry of a batch. Strides and offsets in elements.
struct MatrixProduct {
  int64_t m = 0, k = 0, n = 0;
  int64_t a_stride_m = 0, a_stride_k = 1;
  int64_t b_stride_k = 0, b_stride_n = 1;
  std::vector<int64_t> a_offsets = {0}, b_offsets = {0};  ///< one for each entry of the batch
};

/// Y = alpha * A * B + beta * C. Strides of C are 0 where it is broadcast.
struct GemmPlan {
  MatrixProduct product;
  float alpha = 1, beta = 1;
  int64_t c_stride_m = 0, c_stride_n = 0;
  bool has_c = false;
};

/// Inputs 0 and 1 to output 0, all of `type`; sums in that type (integers wrap), k ascending.
Kernel multiply_numbers(ElementType type, const MatrixProduct& product);
/// Integers: a factor other than 1 is applied in double, and the result is truncated.
Kernel gemm_numbers(ElementType type, const GemmPlan& plan);

/// Fails unless input `i` is given and has a type that products support.
inline Status require_factor(const Prepare& p, size_t i) {
  return p.require_input(i, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16, ElementType::kDouble,
                             ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64});
}
/// True when products of `type` are computed in float32.
inline bool multiplies_in_float(ElementType type) { return is_floating(type) && type != ElementType::kDouble; }

}  // namespace quarkq::exec
