// SPDX-License-Identifier: MIT
#include "pipeline/minor_channels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quarkq::pipeline {
namespace {

constexpr int64_t kMostChannels = 1024;
constexpr int64_t kFewestPlaces = 16;  ///< per channel and sample
constexpr double kGap = 8;             ///< between the magnitudes of two groups of channels, at least
constexpr double kSpread = 30;         ///< between the largest and the smallest magnitude, at least

/// Calls visit(element, channel) for all elements.
template <typename Visit>
void for_each_channel(const ir::Shape& dims, int64_t axis, const Visit& visit) {
  const auto from = dims.begin() + axis;
  const int64_t channels = *from, inner = std::accumulate(from + 1, dims.end(), int64_t{1}, std::multiplies<>());
  const int64_t size = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i < size; ++i) visit(static_cast<size_t>(i), static_cast<size_t>(i / inner % channels));
}

/// Detectors write [batch, places, channels] or [batch, channels, places], images [batch, channels, height, width].
std::optional<int64_t> channel_axis(const ir::Shape& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t size = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::optional<int64_t> best;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const int64_t channels = dims[static_cast<size_t>(axis)];
    if (rank > 3 && axis != 1) continue;
    if (channels < 2 || channels > kMostChannels || size / channels < kFewestPlaces) continue;
    if (!best || channels < dims[static_cast<size_t>(*best)]) best = axis;
  }
  return best;
}

}  // namespace

std::vector<double> MinorChannels::of(const std::vector<double>& values, const ir::Shape& dims) const {
  std::vector<double> found;
  for_each_channel(dims, axis, [&](size_t element, size_t channel) {
    if (is_minor[channel]) found.push_back(values[element]);
  });
  return found;
}

std::optional<MinorChannels> find_minor_channels(const std::vector<std::vector<double>>& samples,
                                                 const ir::Shape& dims) {
  const std::optional<int64_t> axis = channel_axis(dims);
  if (!axis || samples.empty()) return {};
  const auto channels = static_cast<size_t>(dims[static_cast<size_t>(*axis)]);
  std::vector<double> energy(channels, 0.0);
  for (const std::vector<double>& values : samples) {
    for_each_channel(dims, *axis, [&](size_t i, size_t channel) { energy[channel] += values[i] * values[i]; });
  }
  std::vector<size_t> order;  // without empty or non-finite channels
  for (size_t c = 0; c < channels; ++c) {
    if (energy[c] > 0 && std::isfinite(energy[c])) order.push_back(c);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return energy[a] > energy[b]; });
  size_t first_minor = 0;
  double gap = kGap;
  for (size_t i = 1; i < order.size(); ++i) {
    const double ratio = std::sqrt(energy[order[i - 1]] / energy[order[i]]);
    if (ratio < gap) continue;
    gap = ratio;
    first_minor = i;
  }
  if (first_minor == 0 || std::sqrt(energy[order.front()] / energy[order.back()]) < kSpread) return {};
  MinorChannels minor{*axis, std::vector<bool>(channels, false)};
  for (size_t i = first_minor; i < order.size(); ++i) minor.is_minor[order[i]] = true;
  return minor;
}

}  // namespace quarkq::pipeline
