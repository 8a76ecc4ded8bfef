// SPDX-License-Identifier: MIT
// Products of matrices as numbers of any type: private to the product family. matmul.cpp checks and plans, products of
// floats go through oneDNN, all others through the plain loops of matmul_numbers.cpp.
#pragma once

#include <cstdint>

#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

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

/// Fails unless input `i` is there and of a type that products take.
inline Status require_factor(const Prepare& p, size_t i) {
  return p.require_input(i, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16, ElementType::kDouble,
                             ElementType::kInt32, ElementType::kInt64, ElementType::kUInt32, ElementType::kUInt64});
}
/// True when products of `type` are computed in float32.
inline bool multiplies_in_float(ElementType type) { return is_floating(type) && type != ElementType::kDouble; }

}  // namespace quarkq::exec
