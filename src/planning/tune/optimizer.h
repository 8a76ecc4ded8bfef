// SPDX-License-Identifier: MIT
// Parallel loops over the elements of an array, without sums.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "base/parallel.h"

namespace quarkq::planning::finetune {

constexpr int64_t kWeightsPerPiece = 2048;

/// Calls f(i) for each i of [0, count), in pieces. Uses one thread if several would not save time.
template <typename F>
void for_each_element(size_t count, int64_t piece, const F& f) {
  const auto size = static_cast<int64_t>(count);
  parallel_pieces(size, piece, {.threads = size > 2 * piece ? 0 : 1}, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(static_cast<size_t>(i));
  });
}

// Formulas of AdaRound (ref:tuning#adaround) for one weight, and its schedule.

constexpr float kZeta = 1.1f, kGamma = -0.1f;  ///< The sigmoid is stretched beyond 0 and 1, so that both are reached.

/// Returns the initial variable for the fraction `r` of a weight in steps of its scale, 0 <= r < 1.
inline float alpha_of_fraction(float r) { return -std::log((kZeta - kGamma) / (r - kGamma) - 1.0f); }

/// Returns the final rounding direction of a weight. train_loops.h computes the share before that.
inline float hard_share(float alpha) { return alpha >= 0 ? 1.0f : 0.0f; }

/// Start and steepness of the rounding cost.
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

// Adam in float32. Variables are independent, so the result does not depend on threads.

constexpr double kAdamDecay1 = 0.9, kAdamDecay2 = 0.999;

/// The corrections of step number `count`, starting at 1.
struct AdamFactors {
  AdamFactors(int64_t count, double learning_rate)
      : rate(static_cast<float>(learning_rate / (1 - std::pow(kAdamDecay1, count)))),
        root(static_cast<float>(1 / std::sqrt(1 - std::pow(kAdamDecay2, count)))) {}
  float rate, root;
};

class Adam {
 public:
  Adam(size_t count, double learning_rate) : first_(count), second_(count), rate_(learning_rate) {}

  /// `units` are the lengths in which variables are measured; empty: 1. `decay` multiplies the rate.
  void step(std::vector<float>& variables, const std::vector<float>& gradient, const std::vector<float>& units = {},
            double decay = 1) {
    const AdamFactors factors(++count_, rate_ * decay);
    if (!units.empty()) return step_in_units(variables, gradient, units, factors);
    for_each_element(variables.size(), kWeightsPerPiece, [&](size_t i) {
      const float g = gradient[i];
      first_[i] = static_cast<float>(kAdamDecay1) * first_[i] + static_cast<float>(1 - kAdamDecay1) * g;
      second_[i] = static_cast<float>(kAdamDecay2) * second_[i] + static_cast<float>(1 - kAdamDecay2) * g * g;
      variables[i] -= factors.rate * first_[i] / (std::sqrt(second_[i]) * factors.root + 1e-8f);
    });
  }

  /// Adds the moments. With the moments and the number of steps an interrupted training continues with the same bits.
  void append_state(std::vector<std::span<float>>& state) {
    state.emplace_back(first_);
    state.emplace_back(second_);
  }
  void set_count(int64_t steps) { count_ = steps; }

 private:
  void step_in_units(std::vector<float>& variables, const std::vector<float>& gradient, const std::vector<float>& units,
                     const AdamFactors& factors) {
    constexpr float kTiny = 1e-20f;  // only against 0 / 0: the size of gradients depends on that of values
    for_each_element(variables.size(), kWeightsPerPiece, [&](size_t i) {
      const float g = gradient[i] * units[i];
      first_[i] = static_cast<float>(kAdamDecay1) * first_[i] + static_cast<float>(1 - kAdamDecay1) * g;
      second_[i] = static_cast<float>(kAdamDecay2) * second_[i] + static_cast<float>(1 - kAdamDecay2) * g * g;
      variables[i] -= units[i] * factors.rate * first_[i] / (std::sqrt(second_[i]) * factors.root + kTiny);
    });
  }

  std::vector<float> first_, second_;
  double rate_;
  int64_t count_ = 0;
};

}  // namespace quarkq::planning::finetune
