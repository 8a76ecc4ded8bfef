// SPDX-License-Identifier: MIT
// Least-squares fits of HardSigmoid, clamp(x / 6 + 0.5, 0, 1), to Sigmoid on observed values.
#pragma once

#include <optional>
#include <span>

namespace quarkq::rewrite {

/// gain * x * HardSigmoid(slope * x).
struct SwishFit {
  double slope = 1, gain = 1;
  double error = 0;  ///< Mean squared difference from the targets, large targets weighted more.
};

/// Fits `inputs` to `targets` of the same number. If `scale` is set, slope / gain must have this value; otherwise the
/// best gain is chosen for each slope.
SwishFit fit_swish(std::span<const float> inputs, std::span<const float> targets, std::optional<double> scale);

/// HardSigmoid(slope * x + shift).
struct SigmoidFit {
  double slope = 1, shift = 0;
  double error = 0;  ///< Mean squared difference from the targets.
};

SigmoidFit fit_sigmoid(std::span<const float> inputs, std::span<const float> targets);

}  // namespace quarkq::rewrite
