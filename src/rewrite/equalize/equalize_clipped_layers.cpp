// SPDX-License-Identifier: MIT
// Cross-layer equalization of layers with a Clip(0, c) between them, which the reference leaves alone. A factor on a
// channel passes the Clip as long as the channel stays below c before and after: which channels do is measured on
// samples. The others keep their scale.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "calib/sample_readers.h"
#include "calib/sample_run.h"
#include "ir/constants.h"
#include "rewrite/equalize/layer_chains.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr size_t kSamples = 16;
/// Margin of other samples beyond the largest value seen.
constexpr float kHeadroom = 1.1f;
/// A channel this close to the limit counts as clipped.
constexpr float kClipped = 0.999f;
constexpr int kSweeps = 40;
constexpr float kSettled = 1e-3f;  ///< factors that differ from 1 by less in a whole sweep

struct ClippedPair {
  LayerChain chain;  ///< head and tail
  float limit = 0;
  std::vector<float> largest = {};  ///< The largest observed result by channel of the head; scaled with the channel.
  float bias_limit = 0;             ///< a factor above 1 must not take a bias beyond
};

/// The upper limit of a Clip from 0, or nothing.
std::optional<float> limit_of(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Clip")) return {};
  const auto low = ir::number_of(graph, node, 1, "min", -std::numeric_limits<double>::infinity());
  const auto high = ir::number_of(graph, node, 2, "max", std::numeric_limits<double>::infinity());
  if (!low || !high || *low != 0 || !(*high > 0) || !std::isfinite(*high)) return {};
  return static_cast<float>(*high);
}

std::vector<ClippedPair> clipped_pairs(const pass::FloatContext& context) {
  const ir::Graph& graph = context.graph();
  std::vector<ClippedPair> pairs;
  for (const LayerChain& chain : find_clipped_pairs(graph, context.selection)) {
    const ir::Node* clip = only_consumer(graph, graph.node(chain[0]));
    const std::optional<float> limit = clip == nullptr ? std::nullopt : limit_of(graph, *clip);
    if (limit && unsafe_reason(graph, chain, {}).empty()) pairs.push_back({chain, *limit});
  }
  return pairs;
}

/// Raises `largest` to the values of each channel, axis 1.
Status add_maxima(const ir::Tensor& result, std::vector<float>& largest) {
  const auto channels = static_cast<int64_t>(largest.size());
  if (result.rank() < 2 || result.dims()[1] != channels) return unsupported("its results have other channels");
  QQ_TRY(const std::vector<float> values, ir::float_values(result));
  const int64_t inner = result.size() / std::max<int64_t>(1, result.dims()[0] * channels);
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    float& most = largest[static_cast<size_t>(i / inner % channels)];
    const float value = values[static_cast<size_t>(i)];
    if (!(value <= most)) most = value;  // NaN is kept: the channel is unknown
  }
  return Status();
}

Status measure(const pass::FloatContext& context, std::vector<ClippedPair>& pairs) {
  const ir::Graph& graph = context.graph();
  exec::SessionOptions options;
  for (ClippedPair& pair : pairs) {
    const ir::Node& head = graph.node(pair.chain[0]);
    options.fetches.push_back(head.output(0));
    const ChannelView view = *output_channels(head, graph.constant(head.input(1))->dims());
    pair.largest.assign(static_cast<size_t>(view.channels), 0.0f);
  }
  const calib::SpreadSamples samples(*context.data, kSamples, calib::SpreadSamples::Part::kEven);
  const auto add = [&](size_t i, const std::vector<ir::Tensor>& values) -> Status {
    for (size_t k = 0; k < pairs.size(); ++k)
      QQ_RETURN_IF_ERROR(add_maxima(values[k], pairs[k].largest).context(graph.label(pairs[k].chain[0])));
    if (context.progress && !context.progress(i + 1, samples.size())) return Status(Code::kInterrupted, "interrupted");
    return Status();
  };
  return calib::run_all(context.model, context.environment, std::move(options), {samples, "equalization"}, add);
}

/// sqrt(tail / head) as in cross-layer equalization, as far as the Clip and the bias allow.
float factor_of(const ClippedPair& pair, size_t channel, float head, float tail, float bias) {
  const float largest = pair.largest[channel], factor = std::sqrt(tail / head);
  if (!std::isfinite(factor) || factor == 0 || !(largest < kClipped * pair.limit)) return 1;
  float most = largest > 0 ? pair.limit / (largest * kHeadroom) : std::numeric_limits<float>::infinity();
  if (bias > 0) most = std::min(most, std::max(1.0f, pair.bias_limit / bias));
  return std::min(factor, most);
}

/// Returns the largest |factor - 1|.
float equalize(const ir::Graph& graph, ClippedPair& pair, WorkingWeights& weights) {
  const ir::Node &head = graph.node(pair.chain[0]), &tail = graph.node(pair.chain[1]);
  const ChannelView written = *output_channels(head, graph.constant(head.input(1))->dims());
  const ChannelView read = *input_channels(tail, graph.constant(tail.input(1))->dims());
  const std::vector<float> heads = channel_ranges(weights.at(head.input(1)), written);
  const std::vector<float> tails = channel_ranges(weights.at(tail.input(1)), read);
  const bool has_bias = head.input(2).valid();
  std::vector<float> factors(heads.size());
  float change = 0;
  for (size_t c = 0; c < heads.size(); ++c) {
    const float bias = has_bias ? std::abs(weights.at(head.input(2))[c]) : 0;
    factors[c] = factor_of(pair, c, heads[c], tails[c], bias);
    pair.largest[c] *= factors[c];
    change = std::max(change, std::abs(factors[c] - 1));
  }
  if (has_bias) scale_channels(weights.at(head.input(2)), {written.channels, 1}, factors);
  scale_channels(weights.at(head.input(1)), written, factors);
  scale_channels(weights.at(tail.input(1)), read, reciprocals(factors));
  return change;
}

void touch(const ir::Graph& graph, const ClippedPair& pair, WorkingWeights& weights) {
  const ir::Node& head = graph.node(pair.chain[0]);
  weights.touch(head.input(1));
  if (head.input(2).valid()) weights.touch(head.input(2));
  weights.touch(graph.node(pair.chain[1]).input(1));
}

}  // namespace

Result<Changed> equalize_clipped_layers(pass::FloatContext& context) {
  std::vector<ClippedPair> pairs = clipped_pairs(context);
  if (pairs.empty() || context.data == nullptr || context.data->size() == 0) return Changed::kNo;
  QQ_RETURN_IF_ERROR(measure(context, pairs));
  const ir::Graph& graph = context.graph();
  WorkingWeights weights(context.graph());
  for (ClippedPair& pair : pairs) {
    const ir::ValueId bias = graph.node(pair.chain[0]).input(2);
    pair.bias_limit = pair.limit;
    if (!bias.valid()) continue;
    for (const float value : weights.at(bias)) pair.bias_limit = std::max(pair.bias_limit, std::abs(value));
  }
  bool changed = false;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    float change = 0;
    for (ClippedPair& pair : pairs) change = std::max(change, equalize(graph, pair, weights));
    if (change < kSettled) break;
    changed = true;
  }
  if (!changed) return Changed::kNo;
  for (const ClippedPair& pair : pairs) touch(graph, pair, weights);
  return weights.commit() ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::rewrite
