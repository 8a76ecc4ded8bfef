// SPDX-License-Identifier: MIT
#include "rewrite/hardware/gate_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace quarkq::rewrite {
namespace {

constexpr double kLeastSlope = 0.7, kMostSlope = 2.2, kCoarse = 0.05, kFine = 0.01;
constexpr double kLeastGain = 0.5, kMostGain = 2;
constexpr int kHalvings = 24;

float hard_sigmoid(float x) { return std::clamp(x * (1.0f / 6) + 0.5f, 0.0f, 1.0f); }

/// Inputs of a gate and the values that it is fitted to.
struct Observed {
  std::span<const float> inputs, targets;
  std::vector<float> weights;  ///< Mean 1.
};

/// Few of the values are large, and later layers look for these. With equal weights the fit gave them up for the many
/// small ones: a YOLOv8 network found a quarter of its objects.
std::vector<float> weights_of(std::span<const float> targets) {
  constexpr float kOfEach = 5.0F / 6, kOfMagnitude = 1.0F / 6;
  double sum = 0;
  for (const float target : targets) sum += std::abs(target);
  std::vector<float> weights(targets.size(), 1.0F);
  if (!(sum > 0)) return weights;
  const auto mean = static_cast<float>(sum / static_cast<double>(targets.size()));
  for (size_t i = 0; i < targets.size(); ++i) weights[i] = kOfEach + kOfMagnitude * std::abs(targets[i]) / mean;
  return weights;
}

/// Sums of weighted products of h = x HardSigmoid(slope x) and the targets.
struct Products {
  double hh = 0, ht = 0, tt = 0;
};

Products products_at(double slope, const Observed& observed) {
  const auto factor = static_cast<float>(slope);
  float hh = 0, ht = 0, tt = 0;
  for (size_t i = 0; i < observed.inputs.size(); ++i) {
    const float x = observed.inputs[i], t = observed.targets[i], weight = observed.weights[i];
    const float h = x * hard_sigmoid(factor * x);
    hh += weight * h * h;
    ht += weight * h * t;
    tt += weight * t * t;
  }
  return {hh, ht, tt};
}

SwishFit swish_at(double slope, const Observed& observed, std::optional<double> scale) {
  const Products sums = products_at(slope, observed);
  const double best = sums.hh > 0 ? std::clamp(sums.ht / sums.hh, kLeastGain, kMostGain) : 1;
  const double gain = scale ? slope / *scale : best;
  const double error = gain * gain * sums.hh - 2 * gain * sums.ht + sums.tt;
  return {slope, gain, error / static_cast<double>(std::max<size_t>(1, observed.inputs.size()))};
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
  const Observed observed{inputs, targets, weights_of(targets)};
  SwishFit best = swish_at(1, observed, scale);
  const auto try_slopes = [&](double from, double to, double step) {
    for (double slope = from; slope <= to + step / 2; slope += step) {
      const SwishFit fit = swish_at(slope, observed, scale);
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
