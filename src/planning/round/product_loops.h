// SPDX-License-Identifier: MIT
// Inner product loops of compensated rounding. Sums run in the order of `depth`, so they do not depend on threads.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::planning {

/// A part of a row-major matrix.
struct MatrixPart {
  float* data = nullptr;
  int64_t stride = 0;  ///< Number of elements between the starts of two rows.
};
struct ConstMatrixPart {
  const float* data = nullptr;
  int64_t stride = 0;
};
struct ProductShape {
  int64_t rows = 0, columns = 0, depth = 0;
};

QQ_DECLARE_ISA(
    /// Computes sum[rows, columns] += factor * left^T right, with left [depth, rows] and right [depth, columns].
    void add_product(MatrixPart sum, ConstMatrixPart left, ConstMatrixPart right, ProductShape shape, float factor);)

}  // namespace quarkq::planning
