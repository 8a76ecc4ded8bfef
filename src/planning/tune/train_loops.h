// SPDX-License-Identifier: MIT
// Training loops over all results of a layer. Callers divide the work into fixed chunks.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::planning {

/// Results per chunk. Sums are computed per chunk, so that they do not depend on threads.
constexpr int64_t kResultChunk = 16384;

/// One entry per result.
struct LossArrays {
  const float *result, *quantized;  ///< Result of the block, and the quantized result; equal if there is no quantizer
                                    ///< after it.
  const float* target;
  float* gradient;          ///< Gradient of the loss at `result`.
  float factor = 1;         ///< Factor of quantized - target.
  float low = 0, high = 0;  ///< The quantizer clips results outside, and their gradient is 0.
};

QQ_DECLARE_ISA(
    /// Fills the gradient of [begin, end) and returns the sum of (quantized - target)^2.
    double loss_gradient(const LossArrays& arrays, int64_t begin, int64_t end);
    /// Returns the sum of (a - b)^2 over [begin, end).
    double squared_distance(const float* a, const float* b, int64_t begin, int64_t end);
    /// Adds dy[i][c] * x[i][c] over `rows` to sums[c]. A null `x` means 1.
    void add_rows(const float* dy, const float* x, int64_t rows, int64_t channels, double* sums);)

/// One target of the whole network. Channels are the last axis.
struct TargetLoss {
  const float *result, *target;
  const float* factors;       ///< The result is the target multiplied by these, per channel; 0: not compared. Null: 1.
  int64_t channels = 1;       ///< Number of factors.
  float* gradient = nullptr;  ///< Receives the gradient of share * loss at `result`; null: none.
  double weight = 1;          ///< Factor of the squared error of result / factor.
  double sigmoid_weight = 0;  ///< Factor of the squared error of Sigmoid of it.
  double share = 1;
};

QQ_DECLARE_ISA(
    /// Returns the loss of [begin, end), which begins with the first channel.
    double target_loss(const TargetLoss& loss, int64_t begin, int64_t end);)

// Loops of a tape over all elements of a value. Callers divide the work into fixed chunks.

/// Draws by position: element i is drawn when a hash of i and `seed` is below `limit`, so that no order of work shows.
struct Draw {
  uint32_t seed = 0, limit = 0;
};

/// The limit by which a share of the elements is drawn; none for shares below 0 and NaN, all from 1 on.
inline uint32_t draw_limit(double share) {
  if (share >= 1) return 0xffffffffu;
  return share > 0 ? static_cast<uint32_t>(share * 4294967296.0) : 0u;
}

/// Elements [begin, end) of a value.
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
    void pass_inside(const float* at, float* y, Span span, Elements elements);
    /// y = x clipped to the span.
    void clip_to(const float* x, float* y, Span span, Elements elements);
    /// y = 0 where `at` is outside of the open span.
    void pass_strictly_inside(const float* at, float* y, Span span, Elements elements);
    /// y = factor * x + offset clipped to 0 to 1.
    void hard_sigmoid(const float* x, float* y, float factor, float offset, Elements elements);
    /// y *= factor where factor * x + offset is strictly between 0 and 1, otherwise y = 0.
    void hard_sigmoid_gradient(const float* x, float* y, float factor, float offset, Elements elements);
    /// y = a + b.
    void add(const float* a, const float* b, float* y, Elements elements);
    /// y = a - b.
    void subtract(const float* a, const float* b, float* y, Elements elements);
    /// y = x * factor.
    void scale(const float* x, float* y, float factor, Elements elements);
    /// y = a * b.
    void multiply(const float* a, const float* b, float* y, Elements elements);)

// Loops of AdaRound over all weights of a layer. Callers divide the work into fixed chunks.

/// One entry per weight.
struct AdaRoundArrays {
  const float* scales;
  const float* floors;  ///< Rounded-down grid coordinate of the weight, including the zero point.
  const float* zeros;
  float *alpha, *raw;       ///< The variable, and its share before clipping from the last adaround_weights().
  float *first, *second;    ///< Moments of Adam.
  float low = 0, high = 0;  ///< Limits of the stored integers.
};

/// Inputs of a step in addition to the gradient.
struct AdaRoundStep {
  bool is_warm_up = true;
  float beta = 2, reg_param = 0;
  float rate = 0, root = 1;  ///< Adam: learning rate divided by the first correction, and 1 / sqrt(second correction).
};

QQ_DECLARE_ISA(
    /// Computes shares and soft weights of [begin, end).
    void adaround_weights(const AdaRoundArrays& arrays, float* weights, int64_t begin, int64_t end);
    /// Moves alpha of [begin, end) along the gradient at the soft weights. Returns the rounding cost without its
    /// factor.
    double adaround_step(const AdaRoundArrays& arrays, const float* gradient, const AdaRoundStep& step, int64_t begin,
                         int64_t end);)

}  // namespace quarkq::planning
