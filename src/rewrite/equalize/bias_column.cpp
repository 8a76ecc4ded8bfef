// SPDX-License-Identifier: MIT
// The share of a bias in a layer's range (ref:equalization#bias-column).
#include <algorithm>
#include <cmath>

#include "rewrite/equalize/scaling.h"

namespace quarkq::rewrite {
namespace {

constexpr float kLeastWeight = 1e-7f;

/// For each channel what its zeros are replaced by: its least other magnitude, or kLeastWeight where there are zeros
/// only; there `bias` becomes zero.
std::vector<float> least_magnitudes(std::span<const float> weights, const ChannelView& view, std::vector<float>& bias) {
  std::vector<float> least(static_cast<size_t>(view.channels), INFINITY);
  for_each_run(weights, view, [&](size_t channel, std::span<const float> run) {
    float smallest = least[channel];
    for (const float weight : run) {
      if (weight != 0.0f) smallest = std::min(smallest, std::abs(weight));
    }
    least[channel] = smallest;
  });
  for (size_t c = 0; c < least.size(); ++c) {
    if (std::isfinite(least[c])) continue;
    bias[c] = 0.0f;
    least[c] = kLeastWeight;
  }
  return least;
}

/// |bias / weight| of every weight, and the largest |weight|; for that no weight is zero or below kLeastWeight.
struct Ratios {
  std::vector<float> values;
  float weight_range = 0.0f;
};

Ratios find_ratios(std::span<const float> weights, const ChannelView& view, std::vector<float>& bias) {
  const std::vector<float> least = least_magnitudes(weights, view, bias);
  Ratios ratios;
  ratios.values.reserve(weights.size());
  for_each_run(weights, view, [&](size_t channel, std::span<const float> run) {
    const float size = std::abs(bias[channel]);
    for (const float weight : run) {
      const float magnitude = std::max(weight != 0.0f ? std::abs(weight) : least[channel], kLeastWeight);
      ratios.weight_range = std::max(ratios.weight_range, magnitude);
      ratios.values.push_back(size / magnitude);
    }
  });
  return ratios;
}

/// The average of the two middle values for an even count.
float median(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2.0f;
}

/// median(values) > limit. The median itself is looked for where the two middle values have the limit between them.
bool is_median_above(const std::vector<float>& values, float limit) {
  const auto above = static_cast<size_t>(std::ranges::count_if(values, [=](float value) { return value > limit; }));
  const size_t half = values.size() / 2;
  if (above != half || values.size() % 2 != 0) return above > half;
  return median(values) > limit;
}

/// The divisor of the bias, from its own range, its ratio to the weights, and the middle of all such ratios.
float shrink_of(float bias_range, const Ratios& ratios) {
  double sum = 0;
  for (const float ratio : ratios.values) sum += ratio;
  const double mean = sum / static_cast<double>(ratios.values.size());
  const auto is_large = [&](double mean_limit, float median_limit) {
    return mean > mean_limit || is_median_above(ratios.values, median_limit);
  };
  if (bias_range < 10 && bias_range / ratios.weight_range < 20) return is_large(1000, 100) ? 5.0f : 2.0f;
  if (is_large(500, 30)) return 20.0f;
  return is_large(100, 15) ? 10.0f : 5.0f;
}

}  // namespace

std::vector<float> bias_column(std::span<const float> weights, const ChannelView& view, std::span<const float> bias) {
  std::vector<float> column(bias.begin(), bias.end());
  if (weights.empty()) return column;
  const float shrink = shrink_of(largest_magnitude(bias), find_ratios(weights, view, column));
  for (float& value : column) value /= shrink;
  return column;
}

}  // namespace quarkq::rewrite
