// SPDX-License-Identifier: MIT
// The share of a bias in a layer's range (ref:equalization#bias-column).
#include <algorithm>
#include <cmath>

#include "rewrite/equalize/scaling.h"

namespace quarkq::rewrite {
namespace {

constexpr float kLeastWeight = 1e-7f;

/// |weights| without zeros: a zero becomes the least other magnitude of its channel, and nothing is below kLeastWeight.
/// In channels of zeros only, `bias` becomes zero.
std::vector<float> magnitudes(std::span<const float> weights, const ChannelView& view, std::vector<float>& bias) {
  std::vector<float> least(static_cast<size_t>(view.channels), INFINITY);
  for (size_t i = 0; i < weights.size(); ++i) {
    float& smallest = least[static_cast<size_t>(view.channel_of(static_cast<int64_t>(i)))];
    if (weights[i] != 0.0f) smallest = std::min(smallest, std::abs(weights[i]));
  }
  for (size_t c = 0; c < least.size(); ++c) {
    if (std::isfinite(least[c])) continue;
    bias[c] = 0.0f;
    least[c] = kLeastWeight;
  }
  std::vector<float> result(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const float magnitude = weights[i] != 0.0f ? std::abs(weights[i])
                                               : least[static_cast<size_t>(view.channel_of(static_cast<int64_t>(i)))];
    result[i] = std::max(magnitude, kLeastWeight);
  }
  return result;
}

/// The average of the two middle values for an even count.
float median(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2.0f;
}

float largest_magnitude(std::span<const float> values) {
  float largest = 0.0f;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// The divisor of the bias, from its own range, its ratio to the weights, and the middle of all such ratios.
float shrink_of(float bias_range, float weight_range, const std::vector<float>& ratios) {
  double sum = 0;
  for (const float ratio : ratios) sum += ratio;
  const double mean = sum / static_cast<double>(ratios.size());
  const float middle = median(ratios);
  if (bias_range < 10 && bias_range / weight_range < 20) return middle > 100 || mean > 1000 ? 5.0f : 2.0f;
  if (middle > 30 || mean > 500) return 20.0f;
  return middle > 15 || mean > 100 ? 10.0f : 5.0f;
}

}  // namespace

std::vector<float> bias_column(std::span<const float> weights, const ChannelView& view, std::span<const float> bias) {
  std::vector<float> column(bias.begin(), bias.end());
  if (weights.empty()) return column;
  std::vector<float> ratios = magnitudes(weights, view, column);
  const float weight_range = largest_magnitude(ratios);
  for (size_t i = 0; i < ratios.size(); ++i) {
    ratios[i] = std::abs(column[static_cast<size_t>(view.channel_of(static_cast<int64_t>(i)))]) / ratios[i];
  }
  const float shrink = shrink_of(largest_magnitude(bias), weight_range, ratios);
  for (float& value : column) value /= shrink;
  return column;
}

}  // namespace quarkq::rewrite
