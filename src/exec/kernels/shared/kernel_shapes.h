// SPDX-License-Identifier: MIT
// Sliding windows of convolutions and pools: attributes of a node resolved into numbers, with every limit checked.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "exec/kernels/shared/support.h"
#include "exec/op_def.h"

namespace quarkq::exec {

/// One entry per spatial dimension.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads_begin, pads_end;
  std::vector<int64_t> declared_end;  ///< pads_end before ceil_mode; read_window() only
  ir::Shape output;                   ///< spatial sizes of the output
};

/// Reads kernel_shape (or takes `kernel`), strides, dilations, pads, auto_pad and ceil_mode of `p` for an input of
/// these spatial sizes. pads_end grows where ceil_mode reaches past the input, so that windows and output agree.
Result<Window> read_window(const Prepare& p, const ir::Shape& spatial, const std::vector<int64_t>& kernel);

/// Reads a transposed convolution, including output_padding and output_shape.
Result<Window> read_transposed_window(const Prepare& p, const ir::Shape& spatial, const std::vector<int64_t>& kernel);

// The one reader of the shapes of matrix products: MatMul and Gemm, of any element type, plain or fused.

/// Which inputs are multiplied, and which of them are stored transposed.
struct MatMulOperands {
  size_t left = 0, right = 1;
  bool turn_left = false, turn_right = false;
};

/// C[m, n] = A[m, k] * B[k, n] for each entry of a batch.
struct MatMulShapes {
  int64_t m = 0, k = 0, n = 0;
  ir::Shape batch, batch_left, batch_right;  ///< broadcast; of the operands
  ir::Shape out;                             ///< Shape of the result.
};

/// Reads the shapes like numpy.matmul: vectors are matrices with one row (left) or column (right), which the result
/// does not have; leading dimensions are broadcast. Fails for a scalar, for inner dimensions that differ, and if the
/// result is too large.
Result<MatMulShapes> read_matmul(const Prepare& p, const MatMulOperands& operands = {});
/// Reads the shapes of two matrices. Fails for operands of other ranks.
Result<MatMulShapes> read_gemm_matrices(const Prepare& p, const MatMulOperands& operands = {});

/// Returns, for every entry of the batch shape, the index of the matrix of an operand with batch dims `own`.
std::vector<int64_t> matrix_numbers(const ir::Shape& batch, const ir::Shape& own);

/// One number per spatial axis, the last axis fastest in memory. With fewer than three axes the first ones are filled.
using Position = std::array<int64_t, 3>;

/// The spatial positions of a tensor.
struct Grid {
  Position extent = {1, 1, 1};
  int64_t size() const { return extent[0] * extent[1] * extent[2]; }
  int64_t index(const Position& p) const { return (p[0] * extent[1] + p[1]) * extent[2] + p[2]; }
  Position at(int64_t index) const {
    return {index / (extent[1] * extent[2]), index / extent[2] % extent[1], index % extent[2]};
  }
};

/// Returns the numbers of `list` from `first` on, at most three, with `fill` in front of them.
inline Position three_axes(const ir::Shape& list, size_t first, int64_t fill) {
  Position position = {fill, fill, fill};
  std::copy(list.begin() + static_cast<int64_t>(first), list.end(),
            position.end() - static_cast<int64_t>(list.size() - first));
  return position;
}

}  // namespace quarkq::exec
