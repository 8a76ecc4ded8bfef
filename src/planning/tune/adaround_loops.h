// SPDX-License-Identifier: MIT
// The loops of AdaRound over all weights of a layer. Callers split the work into fixed chunks.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::planning {

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
