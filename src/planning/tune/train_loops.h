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

// The loops of a tape over all elements of a value. Callers split the work into fixed chunks.

/// Draws by position: element i is drawn when a hash of i and `seed` is below `limit`, so that no order of work shows.
struct Draw {
  uint32_t seed = 0, limit = 0;
};

/// The limit by which a share of the elements is drawn; none for shares below 0 and NaN, all from 1 on.
inline uint32_t draw_limit(double share) {
  if (share >= 1) return 0xffffffffu;
  return share > 0 ? static_cast<uint32_t>(share * 4294967296.0) : 0u;
}

/// Of the elements [begin, end).
struct Elements {
  int64_t begin = 0, end = 0;
};

/// Values from low to high, both included.
struct Span {
  float low = 0, high = 0;
};

QQ_DECLARE_ISA(
    /// y = drawn ? y : x clipped to the span.
    void clip_the_rest(const float* x, float* y, Span span, Draw draw, Elements elements);
    /// y = drawn ? a : b.
    void mix(const float* a, const float* b, float* y, Draw draw, Elements elements);
    /// y = 0 where `at` is outside of the span.
    void pass_inside(const float* at, float* y, Span span, Elements elements);)

// The loops of AdaRound over all weights of a layer. Callers split the work into fixed chunks.

/// One entry per weight.
struct AdaRoundArrays {
  const float* scales;
  const float* floors;  ///< of the weight on its grid, zero point included
  const float* zeros;
  float *alpha, *raw;       ///< the variable; its share before clipping, of the last adaround_weights()
  float *first, *second;    ///< moments of Adam
  float low = 0, high = 0;  ///< limits of the stored integers
};

/// The inputs of a step beside the gradient.
struct AdaRoundStep {
  bool is_warm_up = true;
  float beta = 2, reg_param = 0;
  float rate = 0, root = 1;  ///< Adam: learning rate over the first correction; 1 / sqrt(second correction)
};

QQ_DECLARE_ISA(
    /// Shares and soft weights of [begin, end).
    void adaround_weights(const AdaRoundArrays& arrays, float* weights, int64_t begin, int64_t end);
    /// Moves alpha of [begin, end) by the gradient at the soft weights; returns the rounding cost without its factor.
    double adaround_step(const AdaRoundArrays& arrays, const float* gradient, const AdaRoundStep& step, int64_t begin,
                         int64_t end);)

}  // namespace quarkq::planning
