// SPDX-License-Identifier: MIT
// Products of float matrices. Sums run in the order of `depth`, so they do not depend on threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/isa.h"

namespace quarkq::numeric {

/// A part of a row-major matrix.
struct MatrixPart {
  float* data = nullptr;
  int64_t stride = 0;  ///< Number of elements between the starts of two rows.
};
struct ConstMatrixPart {
  const float* data = nullptr;
  int64_t stride = 0;
};
/// Size of the sum, and the number of terms of each of its elements.
struct ProductShape {
  int64_t rows = 0, columns = 0, depth = 0;
};

QQ_DECLARE_ISA(
    /// Computes sum[rows, columns] += factor * left^T right, with left [depth, rows] and right [depth, columns].
    void add_product(MatrixPart sum, ConstMatrixPart left, ConstMatrixPart right, ProductShape shape, float factor);)

/// Sums of products of inputs: Gram(i, k) = sum over rows of x[i] * x[k]. Only k >= i is stored.
class Gram {
 public:
  explicit Gram(int64_t depth) : depth_(depth), sums_(static_cast<size_t>(depth * depth)) {}

  /// Adds `rows` consecutive inputs of `depth` values. Uses all threads; no sum depends on their number.
  void add(std::span<const float> inputs, int64_t rows);
  int64_t depth() const { return depth_; }
  /// Returns the sum of x[row] * x[column] over all inputs.
  /// REQUIRES: column >= row.
  float at(int64_t row, int64_t column) const { return sums_[static_cast<size_t>(row * depth_ + column)]; }
  /// Returns the whole symmetric matrix, [depth, depth]. The object has no sums afterwards and cannot be used again.
  std::vector<float> take();

 private:
  int64_t depth_;
  std::vector<float> sums_;
};

}  // namespace quarkq::numeric
