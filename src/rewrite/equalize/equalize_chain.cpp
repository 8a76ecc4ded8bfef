// SPDX-License-Identifier: MIT
// Scales one pair or triple of layers (ref:equalization#pair-scales, ref:equalization#triple-scales).
#include <algorithm>
#include <cmath>

#include "rewrite/equalize/scaling.h"

namespace quarkq::rewrite {
namespace {

using Factors = std::vector<float>;

const ir::Shape& weight_dims(const ir::Graph& graph, const ir::Node& layer) {
  return graph.value(layer.input(1)).constant->dims();
}

/// s = sqrt(r_tail / r_head), 1 where a range is zero, the sum of ranges below the threshold, or s no number.
Factors pair_factors(const Factors& head, const Factors& tail, const config::Settings& settings) {
  Factors factors(head.size(), 1.0f);
  const auto threshold = static_cast<float>(settings.algorithms.cle_weight_threshold);
  for (size_t i = 0; i < head.size(); ++i) {
    const float mean = std::sqrt(head[i] * tail[i]);
    const bool too_small = settings.algorithms.cle_scale_use_threshold && head[i] + tail[i] < threshold;
    const float factor = tail[i] / mean;
    if (mean != 0.0f && !too_small && std::isfinite(factor) && factor != 0.0f) factors[i] = factor;
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

void equalize_triple(const ir::Graph& graph, const LayerChain& triple, WorkingWeights& weights) {
  const ir::Node &first = graph.node(triple[0]), &middle = graph.node(triple[1]), &last = graph.node(triple[2]);
  const ChannelView view0 = *output_channels(first, weight_dims(graph, first));
  const ChannelView view1 = *output_channels(middle, weight_dims(graph, middle));
  const ChannelView view2 = *input_channels(last, weight_dims(graph, last));
  const Factors m0 = channel_ranges(weights.at(first.input(1)), view0);
  const Factors m1 = channel_ranges(weights.at(middle.input(1)), view1);
  const Factors m2 = channel_ranges(weights.at(last.input(1)), view2);
  Factors s12, s23;
  for (size_t i = 0; i < m0.size(); ++i) {
    const float mean = std::pow(m0[i] * m1[i] * m2[i], 0.33333334f);
    s12.push_back(usable(m0[i] / mean));
    s23.push_back(usable(mean / m2[i]));
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
  equalize_triple(graph, chain, weights);
}

}  // namespace quarkq::rewrite
