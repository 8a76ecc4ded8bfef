// SPDX-License-Identifier: MIT
// The one reader of the shapes of matrix products: MatMul and Gemm, of any element type, plain or fused.
#pragma once

#include <vector>

#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

/// Which inputs are multiplied, and which of them are stored transposed.
struct MatMulOperands {
  size_t left = 0, right = 1;
  bool turn_left = false, turn_right = false;
};

/// C[m, n] = A[m, k] * B[k, n] for each entry of a batch.
struct MatMulShapes {
  int64_t m = 0, k = 0, n = 0;
  ir::Shape batch, batch_left, batch_right;  ///< broadcast; of the operands
  ir::Shape out;                             ///< of the result
};

/// As numpy.matmul: vectors are matrices with one row (left) or column (right), which the result does not have, leading
/// dimensions broadcast. Fails on a scalar, on inner dimensions that differ, and when the result is too large.
Result<MatMulShapes> read_matmul(const Prepare& p, const MatMulOperands& operands = {});
/// The same of two matrices; fails for operands of other ranks.
Result<MatMulShapes> read_gemm_matrices(const Prepare& p, const MatMulOperands& operands = {});

/// For every entry of the batch shape: which matrix of an operand with batch dims `own` it uses.
std::vector<int64_t> matrix_numbers(const ir::Shape& batch, const ir::Shape& own);

}  // namespace quarkq::exec
