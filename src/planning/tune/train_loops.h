// SPDX-License-Identifier: MIT
// The loops of the training over all results of a layer. Callers split the work into fixed chunks.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::planning {

/// Results in a chunk. Sums are made chunk by chunk, so that threads do not show.
constexpr int64_t kResultChunk = 16384;

/// One entry per result.
struct LossArrays {
  const float *result, *quantized;  ///< of the block; the same without a quantizer after it
  const float* target;
  float* gradient;          ///< of the loss at `result`
  float factor = 1;         ///< of quantized - target
  float low = 0, high = 0;  ///< results outside are clipped by the quantizer, which lets no gradient through
};

QQ_DECLARE_ISA(
    /// Fills the gradient of [begin, end); returns the sum of (quantized - target)^2.
    double loss_gradient(const LossArrays& arrays, int64_t begin, int64_t end);
    /// Sum of (a - b)^2 over [begin, end).
    double squared_distance(const float* a, const float* b, int64_t begin, int64_t end);
    /// sums[c] += dy[i][c] * x[i][c] over `rows`, x taken as 1 when null.
    void add_rows(const float* dy, const float* x, int64_t rows, int64_t channels, double* sums);)

}  // namespace quarkq::planning
