// SPDX-License-Identifier: MIT
// Vectorized float32 reductions.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

enum class Reduce : uint8_t { kSum, kMean, kMax, kMin, kProd, kSumSquare, kL1, kL2, kLogSum, kLogSumExp };

constexpr int64_t kReduceColumns = 64;  ///< most columns of one reduce_columns() call

/// Which of the extreme elements ArgMax and ArgMin name.
struct Extreme {
  bool largest = true, last = false;
};

QQ_DECLARE_ISA(
    /// Sum (kSum, kMean, kLogSum), sum of squares (kSumSquare, kL2), sum of sizes (kL1), logarithm of the sum of
    /// exponentials, or extreme of x[0..n), n > 0.
    double reduce_row(Reduce op, const float* x, int64_t n);
    /// The same down each of `columns` <= kReduceColumns columns; rows lie `stride` apart.
    void reduce_columns(Reduce op, const float* x, int64_t rows, int64_t stride, int64_t columns, double* totals);
    /// Index of the extreme of x[0..n), n > 0. NaN counts as the extreme, and then the first one wins.
    int64_t extreme_of_row(Extreme extreme, const float* x, int64_t n);
    /// The same down each of `columns` <= kReduceColumns columns; rows < 2^31 lie `stride` apart.
    void extreme_of_columns(Extreme extreme, const float* x, int64_t rows, int64_t stride, int64_t columns,
                            int64_t* places);)

}  // namespace quarkq::exec
