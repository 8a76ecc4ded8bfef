// SPDX-License-Identifier: MIT
// Interpolation over channels-last images: an output row of channels is a weighted sum of input rows.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

/// Output row i is the sum of weights[k] * (x + offsets[k])[0..channels) over k in [begin[i], begin[i + 1]), times
/// factor[i] when there are factors.
struct RowSums {
  const int64_t* begin = nullptr;
  const int64_t* offsets = nullptr;  ///< elements
  const float* weights = nullptr;
  const float* factor = nullptr;  ///< may be null
  int64_t channels = 0;
  int64_t stride = 0;  ///< elements between output rows
};

QQ_DECLARE_ISA(
    /// Output rows [0, rows) at y.
    void weighted_rows(const RowSums& sums, const float* x, float* y, int64_t rows);
    /// The same with the largest weighted value instead of the sum; an output without inputs is 0.
    void largest_rows(const RowSums& sums, const float* x, float* y, int64_t rows);)

}  // namespace quarkq::exec
