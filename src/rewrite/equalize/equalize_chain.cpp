// SPDX-License-Identifier: MIT
// Scales one pair or triple of layers (ref:equalization#pair-scales, ref:equalization#triple-scales).
#include <algorithm>
#include <cmath>

#include "rewrite/equalize/layer_chains.h"

namespace quarkq::rewrite {

namespace {

using Factors = std::vector<float>;

const ir::Shape& weight_dims(const ir::Graph& graph, const ir::Node& layer) {
  return graph.value(layer.input(1)).constant->dims();
}

/// Channels whose weights, equalized, are below half a step of 8 bits everywhere: the product of their ranges is below
/// this share of the largest product to the power of 1 / layers.
constexpr double kDead = 1.0 / 256;

/// Returns for each channel whether it matters. A dead one (training leaves weights of 1e-30) would only get a bias of
/// 1e6, which the format of biases pays for in all other channels.
std::vector<bool> live_channels(std::initializer_list<const Factors*> ranges, const config::Settings& settings) {
  const size_t channels = (*ranges.begin())->size();
  if (!settings.quirk(config::Quirk::kEqualizeLiveChannels)) return std::vector<bool>(channels, true);
  std::vector<double> products(channels, 1);
  for (const Factors* layer : ranges) {
    for (size_t i = 0; i < channels; ++i) products[i] *= static_cast<double>((*layer)[i]);
  }
  double largest = 0;
  for (const double product : products) largest = std::max(largest, product);
  const double least = largest * std::pow(kDead, static_cast<double>(ranges.size()));
  std::vector<bool> live(channels);
  for (size_t i = 0; i < channels; ++i) live[i] = !(products[i] < least);
  return live;
}

/// s = sqrt(r_tail / r_head), 1 where the channel is dead, a range is zero, the sum of ranges below the threshold, or s
/// no number.
Factors pair_factors(const Factors& head, const Factors& tail, const config::Settings& settings) {
  Factors factors(head.size(), 1.0f);
  const std::vector<bool> live = live_channels({&head, &tail}, settings);
  const auto threshold = static_cast<float>(settings.algorithms.cle_weight_threshold);
  for (size_t i = 0; i < head.size(); ++i) {
    const float mean = std::sqrt(head[i] * tail[i]);
    const bool too_small = settings.algorithms.cle_scale_use_threshold && head[i] + tail[i] < threshold;
    const float factor = tail[i] / mean;
    if (live[i] && mean != 0.0f && !too_small && std::isfinite(factor) && factor != 0.0f) factors[i] = factor;
  }
  return factors;
}

void equalize_pair(const ir::Graph& graph, const LayerChain& pair, const config::Settings& settings,
                   WorkingWeights& weights) {
  const ir::Node &head = graph.node(pair[0]), &tail = graph.node(pair[1]);
  const ir::ValueId head_weight = head.input(1), bias = head.input(2), tail_weight = tail.input(1);
  const ChannelView written = *output_channels(head, weight_dims(graph, head));
  const ChannelView read = *input_channels(tail, weight_dims(graph, tail));
  Factors head_ranges = channel_ranges(weights.at(head_weight), written);
  if (settings.algorithms.cle_scale_append_bias && bias.valid()) {
    const Factors column = bias_column(weights.at(head_weight), written, weights.at(bias));
    for (size_t i = 0; i < column.size(); ++i) head_ranges[i] = std::max(head_ranges[i], std::abs(column[i]));
  }
  const Factors factors = pair_factors(head_ranges, channel_ranges(weights.at(tail_weight), read), settings);
  if (bias.valid()) {
    scale_channels(weights.at(bias), {written.channels, 1}, factors);
    weights.touch(bias);
  }
  scale_channels(weights.at(head_weight), written, factors);
  weights.touch(head_weight);
  scale_channels(weights.at(tail_weight), read, reciprocals(factors));
  weights.touch(tail_weight);
}

float usable(float factor) { return std::isfinite(factor) && factor != 0.0f ? factor : 1.0f; }

void equalize_triple(const ir::Graph& graph, const LayerChain& triple, const config::Settings& settings,
                     WorkingWeights& weights) {
  const ir::Node &first = graph.node(triple[0]), &middle = graph.node(triple[1]), &last = graph.node(triple[2]);
  const ChannelView view0 = *output_channels(first, weight_dims(graph, first));
  const ChannelView view1 = *output_channels(middle, weight_dims(graph, middle));
  const ChannelView view2 = *input_channels(last, weight_dims(graph, last));
  const Factors m0 = channel_ranges(weights.at(first.input(1)), view0);
  const Factors m1 = channel_ranges(weights.at(middle.input(1)), view1);
  const Factors m2 = channel_ranges(weights.at(last.input(1)), view2);
  const std::vector<bool> live = live_channels({&m0, &m1, &m2}, settings);
  Factors s12(m0.size(), 1.0f), s23(m0.size(), 1.0f);
  for (size_t i = 0; i < m0.size(); ++i) {
    if (!live[i]) continue;
    const float mean = std::pow(m0[i] * m1[i] * m2[i], 0.33333334f);
    s12[i] = usable(m0[i] / mean);
    s23[i] = usable(mean / m2[i]);
  }
  const Factors inverse12 = reciprocals(s12), inverse23 = reciprocals(s23);
  scale_channels(weights.at(first.input(1)), view0, inverse12);
  // Two roundings, as in the reference: one product of both factors drifts in the last bits from layer to layer.
  scale_channels(weights.at(middle.input(1)), view1, s12);
  scale_channels(weights.at(middle.input(1)), view1, inverse23);
  scale_channels(weights.at(last.input(1)), view2, s23);
  for (const ir::NodeId id : triple) weights.touch(graph.node(id).input(1));
  const std::pair<const ir::Node*, const Factors*> biased[] = {{&first, &inverse12}, {&middle, &inverse23}};
  for (const auto& [layer, factors] : biased) {
    if (!layer->input(2).valid()) continue;
    scale_channels(weights.at(layer->input(2)), {static_cast<int64_t>(factors->size()), 1}, *factors);
    weights.touch(layer->input(2));
  }
}

}  // namespace

void equalize_chain(const ir::Graph& graph, const LayerChain& chain, const config::Settings& settings,
                    WorkingWeights& weights) {
  if (chain.size() == 2) return equalize_pair(graph, chain, settings, weights);
  equalize_triple(graph, chain, settings, weights);
}

// The share of a bias in a layer's range (ref:equalization#bias-column).

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
