// SPDX-License-Identifier: MIT
// The fixed-point numbers that the DPU computes with (ref:npu#pools).
#pragma once

#include <cstdint>

#include "ir/node.h"

namespace quarkq::planning {

/// The factor that the mean of k x k values is multiplied by: the DPU multiplies by m / 2^n instead of dividing by k^2.
double average_pool_factor(int64_t kernel);
/// Returns the factor for a mean over `count` values, without the hand-made numbers of average_pool_factor(). REQUIRES:
/// count > 0.
double mean_factor(int64_t count);
/// Steps of 1/256.
float dpu_leaky_relu_alpha(float alpha);
/// HardSigmoid with alpha 1/6 and beta 1/2 is the DPU's; its product with 1/6 is one with 2731/16384 there.
bool has_dpu_hard_sigmoid_attributes(const ir::Node& node);
constexpr float kHardSigmoidFactor = 1.0001220703125f;

}  // namespace quarkq::planning
