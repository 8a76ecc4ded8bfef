// SPDX-License-Identifier: MIT
// Batched matrix transposition: the data movement of every change of layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

/// Consecutive row-major matrices [rows, columns] of elements of `size` bytes (1, 2, 4, 8 or 16).
struct MatrixBatch {
  int64_t batch = 1, rows = 0, columns = 0;
  int size = 4;
};
/// Writes the transposed matrices [columns, rows]. Source and destination must not overlap. Threaded when large.
void transpose_matrices(const std::byte* source, std::byte* destination, const MatrixBatch& matrices);

/// A part of a matrix: from[r * from_stride + c] becomes to[c * to_stride + r]. Strides in elements.
struct TransposedPart {
  int64_t from_stride = 0, to_stride = 0, rows = 0, columns = 0;
};

QQ_DECLARE_ISA(
    /// Elements of 4 bytes.
    void transpose_4(const uint32_t* from, uint32_t* to, const TransposedPart& part);)

}  // namespace quarkq::exec
