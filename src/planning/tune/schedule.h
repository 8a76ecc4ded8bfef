// SPDX-License-Identifier: MIT
// The formulas of AdaRound (ref:tuning#adaround) for one weight, and its schedule.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace quarkq::planning::finetune {

constexpr float kZeta = 1.1f, kGamma = -0.1f;  ///< the sigmoid is stretched past 0 and 1, so that both are reached

/// The variable that starts at the fraction `r` of a weight in steps of its scale, 0 <= r < 1.
inline float alpha_of_fraction(float r) { return -std::log((kZeta - kGamma) / (r - kGamma) - 1.0f); }

/// Which way a weight is rounded in the end. (Its share before that: adaround_loops.h.)
inline float hard_share(float alpha) { return alpha >= 0 ? 1.0f : 0.0f; }

/// When the rounding cost sets in, and how steep it is.
struct BetaSchedule {
  int64_t iterations = 1000;
  double warm_start = 0.2, start = 20, end = 2;

  bool is_warm_up(int64_t iteration) const {
    return static_cast<double>(iteration) < warm_start * static_cast<double>(iterations);
  }
  double beta(int64_t iteration) const {
    const double from = warm_start * static_cast<double>(iterations);
    const double share = (static_cast<double>(iteration) - from) / (static_cast<double>(iterations) - from);
    return end + 0.5 * (start - end) * (1.0 + std::cos(std::numbers::pi * share));
  }
};

}  // namespace quarkq::planning::finetune
