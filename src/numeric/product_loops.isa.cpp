// SPDX-License-Identifier: MIT
#include <algorithm>

#include "numeric/product_loops.h"

namespace quarkq::numeric::QQ_ISA {
namespace {

constexpr int64_t kRows = 4, kColumns = 32;  // sums that stay in registers

/// One whole tile of sums.
void add_tile(MatrixPart sum, ConstMatrixPart left, ConstMatrixPart right, int64_t depth, float factor) {
  float tile[kRows][kColumns] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const float* a = left.data + k * left.stride;
    const float* b = right.data + k * right.stride;
    for (int64_t i = 0; i < kRows; ++i) {
      const float x = a[i];
#pragma omp simd
      for (int64_t j = 0; j < kColumns; ++j) tile[i][j] += x * b[j];
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
#pragma omp simd
    for (int64_t j = 0; j < kColumns; ++j) sum.data[i * sum.stride + j] += factor * tile[i][j];
  }
}

/// Up to a whole tile.
void add_edge(MatrixPart sum, ConstMatrixPart left, ConstMatrixPart right, ProductShape shape, float factor) {
  float tile[kRows][kColumns] = {};
  for (int64_t k = 0; k < shape.depth; ++k) {
    const float* a = left.data + k * left.stride;
    const float* b = right.data + k * right.stride;
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t j = 0; j < shape.columns; ++j) tile[i][j] += a[i] * b[j];
    }
  }
  for (int64_t i = 0; i < shape.rows; ++i) {
    for (int64_t j = 0; j < shape.columns; ++j) sum.data[i * sum.stride + j] += factor * tile[i][j];
  }
}

}  // namespace

void add_product(MatrixPart sum, ConstMatrixPart left, ConstMatrixPart right, ProductShape shape, float factor) {
  for (int64_t j = 0; j < shape.columns; j += kColumns) {
    const int64_t columns = std::min(kColumns, shape.columns - j);
    const ConstMatrixPart b{right.data + j, right.stride};
    for (int64_t i = 0; i < shape.rows; i += kRows) {
      const int64_t rows = std::min(kRows, shape.rows - i);
      const MatrixPart part{sum.data + i * sum.stride + j, sum.stride};
      const ConstMatrixPart a{left.data + i, left.stride};
      if (rows == kRows && columns == kColumns) {
        add_tile(part, a, b, shape.depth, factor);
      } else {
        add_edge(part, a, b, {rows, columns, shape.depth}, factor);
      }
    }
  }
}

}  // namespace quarkq::numeric::QQ_ISA
