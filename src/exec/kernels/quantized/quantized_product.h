// SPDX-License-Identifier: MIT
// Common parts of the integer products and convolutions: checking and reading scales and zero points, widening operands
// to 16 bits, and the product itself with its post-processing (bias, requantization).
#pragma once

#include <cstdint>
#include <vector>

#include "exec/kernels/quantized/quantized_loops.h"
#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

/// A scale or zero point: input `index` with `count` elements; absent means 0.
struct QuantInput {
  size_t index = 0;
  ElementType type = ElementType::kUndefined;
  int64_t count = 0;  ///< 0: absent

  std::vector<float> floats(const Run& run) const;
  std::vector<int32_t> integers(const Run& run) const;  ///< at least one
};

/// Input `i` as a scale: floats, one or, when that is not 1, `columns` of them.
Result<QuantInput> read_scale(const Prepare& p, size_t i, int64_t columns = 1);
/// Input `i` as zero point of a value of `type`; it may be absent.
Result<QuantInput> read_zero_point(const Prepare& p, size_t i, ElementType type, int64_t columns = 1);
/// Fails unless input `i` is there and INT8 or UINT8.
Status require_byte(const Prepare& p, size_t i);

/// A matrix of bytes, elements `row_stride` and `depth_stride` apart.
struct ByteMatrix {
  const std::byte* data = nullptr;
  ElementType type = ElementType::kUInt8;
  int64_t rows = 0, depth = 0;
  int64_t row_stride = 0, depth_stride = 1;
};

/// to[row * depth + k] = element - zero point; `zero_points` has one entry or one for each row.
void widen_matrix(const ByteMatrix& matrix, const std::vector<int32_t>& zero_points, int16_t* to);

/// Processing of the sums of a product: bias is added, then they are stored as INT32, requantized to bytes, or scaled
/// to FLOAT.
struct ProductResult {
  ElementType type = ElementType::kInt32;
  std::byte* data = nullptr;
  int64_t stride = 0;             ///< Elements between the starts of two rows of the result.
  const int32_t* bias = nullptr;  ///< may be null
  int64_t bias_row = 0, bias_column = 1;
  const float* scale = nullptr;  ///< One per column; for bytes and FLOAT.
  int32_t zero_point = 0;

  void store(int32_t* sums, int64_t row, int64_t columns) const;
};

/// Rows of 16-bit operands after subtraction of the zero points.
struct ProductOperands {
  const int16_t* left = nullptr;   ///< [rows, depth]
  const int16_t* right = nullptr;  ///< [columns, depth]
  int64_t rows = 0, depth = 0, columns = 0;
};

/// All rows, over threads.
void run_product(const ProductOperands& operands, const ProductResult& result);

/// left * right[c] / result, as ONNX Runtime multiplies them; one for each of `columns`.
std::vector<float> product_scales(float left, const std::vector<float>& right, float result, int64_t columns);

}  // namespace quarkq::exec
