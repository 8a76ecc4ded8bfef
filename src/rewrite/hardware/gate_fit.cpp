// SPDX-License-Identifier: MIT
#include "rewrite/hardware/gate_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace quarkq::rewrite {
namespace {

constexpr double kLeastSlope = 0.7, kMostSlope = 2.2, kCoarse = 0.05, kFine = 0.01;
constexpr double kLeastGain = 0.5, kMostGain = 2;
constexpr int kHalvings = 24;

float hard_sigmoid(float x) { return std::clamp(x * (1.0f / 6) + 0.5f, 0.0f, 1.0f); }

/// Sums of products of h = x HardSigmoid(slope x) and the targets.
struct Products {
  double hh = 0, ht = 0, tt = 0;
};

Products products_at(double slope, std::span<const float> inputs, std::span<const float> targets) {
  const auto factor = static_cast<float>(slope);
  float hh = 0, ht = 0, tt = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const float h = inputs[i] * hard_sigmoid(factor * inputs[i]), t = targets[i];
    hh += h * h;
    ht += h * t;
    tt += t * t;
  }
  return {hh, ht, tt};
}

SwishFit swish_at(double slope, std::span<const float> inputs, std::span<const float> targets,
                  std::optional<double> scale) {
  const Products sums = products_at(slope, inputs, targets);
  const double best = sums.hh > 0 ? std::clamp(sums.ht / sums.hh, kLeastGain, kMostGain) : 1;
  const double gain = scale ? slope / *scale : best;
  const double error = gain * gain * sums.hh - 2 * gain * sums.ht + sums.tt;
  return {slope, gain, error / static_cast<double>(std::max<size_t>(1, inputs.size()))};
}

double sigmoid_error(const SigmoidFit& fit, std::span<const float> inputs, std::span<const float> targets) {
  const auto slope = static_cast<float>(fit.slope), shift = static_cast<float>(fit.shift);
  float sum = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const float difference = hard_sigmoid(slope * inputs[i] + shift) - targets[i];
    sum += difference * difference;
  }
  return sum / static_cast<double>(std::max<size_t>(1, inputs.size()));
}

/// The straight line through the targets, which is best as long as nothing saturates.
SigmoidFit line_through(std::span<const float> inputs, std::span<const float> targets) {
  double x = 0, t = 0, xx = 0, xt = 0;
  const auto n = static_cast<double>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    x += inputs[i];
    t += targets[i];
    xx += double{inputs[i]} * inputs[i];
    xt += double{inputs[i]} * targets[i];
  }
  const double spread = n * xx - x * x;
  if (!(spread > 0)) return {};
  const double line = (n * xt - x * t) / spread;
  return {6 * line, 6 * ((t - line * x) / n - 0.5)};
}

/// Moves both numbers by ever smaller steps as long as the error falls.
SigmoidFit descend(SigmoidFit fit, std::span<const float> inputs, std::span<const float> targets) {
  constexpr double kDirections[][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
  fit.error = sigmoid_error(fit, inputs, targets);
  double step = 0.25;
  for (int round = 0; round < kHalvings; ++round) {
    SigmoidFit best = fit;
    for (const auto& [along, across] : kDirections) {
      SigmoidFit tried{fit.slope + along * step, fit.shift + across * step};
      if (!(tried.slope > 0.05)) continue;
      tried.error = sigmoid_error(tried, inputs, targets);
      if (tried.error < best.error) best = tried;
    }
    if (best.error < fit.error) {
      fit = best;
    } else {
      step /= 2;
    }
  }
  return fit;
}

}  // namespace

SwishFit fit_swish(std::span<const float> inputs, std::span<const float> targets, std::optional<double> scale) {
  SwishFit best = swish_at(1, inputs, targets, scale);
  const auto try_slopes = [&](double from, double to, double step) {
    for (double slope = from; slope <= to + step / 2; slope += step) {
      const SwishFit fit = swish_at(slope, inputs, targets, scale);
      if (fit.error < best.error) best = fit;
    }
  };
  try_slopes(kLeastSlope, kMostSlope, kCoarse);
  try_slopes(best.slope - kCoarse + kFine, best.slope + kCoarse - kFine, kFine);
  return best;
}

SigmoidFit fit_sigmoid(std::span<const float> inputs, std::span<const float> targets) {
  const SigmoidFit starts[] = {line_through(inputs, targets), {1.5, 0}};
  SigmoidFit best = descend({1, 0}, inputs, targets);
  for (const SigmoidFit& start : starts) {
    if (!std::isfinite(start.slope) || !(start.slope > 0.05)) continue;
    const SigmoidFit fit = descend(start, inputs, targets);
    if (fit.error < best.error) best = fit;
  }
  return best;
}

}  // namespace quarkq::rewrite
