// SPDX-License-Identifier: MIT
// Vectorized float32 reductions.
#pragma once

#include <cstdint>

#include "base/isa.h"
#include "exec/kernels/shared/float_rows.h"

namespace quarkq::exec {

enum class Reduce : uint8_t { kSum, kMean, kMax, kMin, kProd, kSumSquare, kL1, kL2, kLogSum, kLogSumExp };

constexpr int64_t kReduceColumns = 64;  ///< most columns of one reduce_columns() call

/// Selection between equal extreme elements in ArgMax and ArgMin.
struct Extreme {
  bool largest = true, last = false;
};

QQ_DECLARE_ISA(
    /// Sum (kSum, kMean, kLogSum), sum of squares (kSumSquare, kL2), sum of sizes (kL1), logarithm of the sum of
    /// exponentials, or extreme of x[0..n), n > 0.
    double reduce_row(Reduce op, const float* x, int64_t n);
    /// Computes reduce_row() along each of at most kReduceColumns columns.
    void reduce_columns(Reduce op, const ColumnRows& x, double* totals);
    /// Returns the index of the extreme of x[0..n), n > 0. NaN counts as the extreme; the first NaN wins.
    int64_t extreme_of_row(Extreme extreme, const float* x, int64_t n);
    /// Computes extreme_of_row() along each of at most kReduceColumns columns of less than 2^31 rows.
    void extreme_of_columns(Extreme extreme, const ColumnRows& x, int64_t* places);)

}  // namespace quarkq::exec
