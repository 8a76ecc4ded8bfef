// SPDX-License-Identifier: MIT
// Batched matrix transposition: the one data movement behind a change of layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

/// For each of `batch` row-major matrices [rows, columns] of elements of `size` bytes (1, 2, 4 or 8): writes the
/// transposed matrix [columns, rows]. Source and destination must not overlap. Threaded when large.
void transpose_matrices(const std::byte* source, std::byte* destination, int64_t batch, int64_t rows, int64_t columns,
                        int size);

QQ_DECLARE_ISA(
    /// Columns [begin, end) of one matrix of 4-byte elements.
    void transpose_columns_4(const uint32_t* source, uint32_t* destination, int64_t rows, int64_t columns,
                             int64_t begin, int64_t end);)

}  // namespace quarkq::exec
