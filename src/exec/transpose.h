// SPDX-License-Identifier: MIT
// Batched matrix transposition: the one data movement behind a change of layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

/// For each of `batch` row-major matrices [rows, columns] of elements of `size` bytes (1, 2, 4, 8 or 16): writes the
/// transposed matrix [columns, rows]. Source and destination must not overlap. Threaded when large.
void transpose_matrices(const std::byte* source, std::byte* destination, int64_t batch, int64_t rows, int64_t columns,
                        int size);

QQ_DECLARE_ISA(
    /// to[c * to_stride + r] = from[r * from_stride + c] for 4-byte elements; strides in elements.
    void transpose_4(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride, int64_t rows,
                     int64_t columns);)

}  // namespace quarkq::exec
