// SPDX-License-Identifier: MIT
// Stem equalization (ref:equalization#stem): the channels of the first Conv are scaled up to a like range, and the
// BatchNormalizations that read them, as DenseNets have many, compensate it: (s x - s mean) gamma / s.
#include <algorithm>
#include <cmath>
#include <set>

#include "ir/constants.h"
#include "rewrite/equalize/layer_chains.h"
#include "rewrite/passes.h"
#include "rewrite/weights.h"

namespace quarkq::rewrite {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

/// The stem's channels inside `value`, from `offset` on.
using Place = std::pair<ValueId, int64_t>;
using NormAt = std::pair<ir::NodeId, int64_t>;

const Node* find_stem(const Graph& graph, const plan::Selection& selection) {
  for (const ir::NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!node.is("Conv") || !selection.selects(node) || node.int_or("group", 1) != 1) continue;
    const bool first = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input.valid() && graph.value(input).is_input && !graph.value(input).is_initializer();
    });
    if (first) return &node;
  }
  return nullptr;
}

bool keeps_scale(const Node& node) {
  static const char* const kOps[] = {"Relu", "MaxPool", "AveragePool", "GlobalAveragePool", "Identity"};
  return std::any_of(std::begin(kOps), std::end(kOps), [&](const char* op) { return node.is(op); });
}

bool is_zero_pad(const Graph& graph, const Node& node) {
  return node.is("Pad") && node.string_or("mode", "constant") == "constant" && pad_reason(graph, node, 1, 4).empty();
}

/// Where the stem's channels are after a Concat along the channels; false when a size before them is unknown.
bool follow_concat(const Graph& graph, const Node& concat, const Place& from, std::vector<Place>& next) {
  if (!concat.is("Concat") || concat.int_or("axis", 0) != 1) return false;
  int64_t offset = from.second;
  bool known = true;
  for (const ValueId input : concat.inputs) {
    if (input == from.first && !known) return false;
    if (input == from.first) next.emplace_back(concat.output(0), offset);
    const ir::ValueType& type = graph.value(input).type;
    known = known && type.has_shape && type.dims.size() >= 2 && type.dims[1].known();
    if (known) offset += type.dims[1].size;
  }
  return true;
}

/// gamma and mean can be rewritten for this node alone.
bool is_adjustable(const Graph& graph, const Node& norm, int64_t channels_end) {
  if (norm.outputs.size() != 1 || norm.int_or("training_mode", 0) != 0) return false;
  for (const size_t i : {size_t{1}, size_t{3}}) {
    const ir::Tensor* stored = ir::stored_floats(graph, norm.input(i));
    if (stored == nullptr || stored->rank() != 1 || stored->size() < channels_end) return false;
    if (graph.use_count(norm.input(i)) != 1) return false;
  }
  return true;
}

/// Readers of the stem's channels: the BatchNormalizations, and the values to follow next.
struct Readers {
  std::vector<NormAt> norms;
  std::vector<Place> next;
};

/// One reader of `from`: a BatchNormalization is noted, others are followed. False ends the search.
bool follow(const Graph& graph, const Node& reader, const Place& from, int64_t channels, Readers& found) {
  if (reader.is("BatchNormalization")) {
    if (reader.input(0) != from.first || !is_adjustable(graph, reader, from.second + channels)) return false;
    const NormAt norm{reader.id, from.second};
    if (std::find(found.norms.begin(), found.norms.end(), norm) == found.norms.end()) found.norms.push_back(norm);
    return true;
  }
  if (reader.is("Concat")) return follow_concat(graph, reader, from, found.next);
  if (reader.input(0) != from.first || (!keeps_scale(reader) && !is_zero_pad(graph, reader))) return false;
  found.next.emplace_back(reader.output(0), from.second);
  return true;
}

/// All BatchNormalizations after the stem, or none when something else reads its channels.
std::vector<NormAt> find_norms(const Graph& graph, const Node& conv, int64_t channels) {
  Readers found;
  std::vector<Place> queue = {{conv.output(0), 0}};
  std::set<Place> seen(queue.begin(), queue.end());
  for (size_t at = 0; at < queue.size(); ++at) {
    const ir::Value& value = graph.value(queue[at].first);
    if (value.is_output) return {};
    ir::NodeId last;  // a node that reads the value twice is one reader
    for (const ir::Use& use : value.uses) {
      if (use.is_capture) return {};
      if (use.node == last) continue;
      last = use.node;
      found.next.clear();
      if (!follow(graph, graph.node(use.node), queue[at], channels, found)) return {};
      for (const Place& place : found.next) {
        if (seen.insert(place).second) queue.push_back(place);
      }
    }
  }
  return found.norms;
}

/// min(target / range, 16), at least 1; 1 for channels of zeros. Empty when all are.
std::vector<float> stem_factors(const std::vector<float>& ranges) {
  constexpr float kLive = 1e-6f, kLargest = 16.0f;
  const float target = ranges.empty() ? 0.0f : *std::max_element(ranges.begin(), ranges.end());
  if (!(target > kLive)) return {};
  std::vector<float> factors;
  for (const float range : ranges) factors.push_back(range > kLive ? std::clamp(target / range, 1.0f, kLargest) : 1.0f);
  return factors;
}

void compensate(const Node& norm, int64_t offset, const std::vector<float>& factors, WorkingWeights& weights) {
  std::vector<float>& gamma = weights.at(norm.input(1));
  std::vector<float>& mean = weights.at(norm.input(3));
  for (size_t i = 0; i < factors.size(); ++i) {
    gamma[static_cast<size_t>(offset) + i] /= factors[i];
    mean[static_cast<size_t>(offset) + i] *= factors[i];
  }
  weights.touch(norm.input(1));
  weights.touch(norm.input(3));
}

}  // namespace

Result<Changed> equalize_stem(pass::FloatContext& context) {
  Graph& graph = context.graph();
  const Node* conv = find_stem(graph, context.selection);
  if (conv == nullptr) return Changed::kNo;
  const ir::Tensor* stored = ir::stored_floats(graph, conv->input(1));
  if (stored == nullptr || stored->rank() != 4 || graph.use_count(conv->input(1)) != 1) return Changed::kNo;
  const ValueId bias = conv->input(2);
  if (bias.valid() && (ir::stored_floats(graph, bias) == nullptr || graph.use_count(bias) != 1)) return Changed::kNo;
  const ChannelView view = *output_channels(*conv, stored->dims());
  const std::vector<NormAt> norms = find_norms(graph, *conv, view.channels);
  WorkingWeights weights(graph);
  const std::vector<float> factors = stem_factors(channel_ranges(weights.at(conv->input(1)), view));
  if (norms.empty() || factors.empty()) return Changed::kNo;
  if (std::all_of(factors.begin(), factors.end(), [](float factor) { return factor == 1.0f; })) return Changed::kNo;
  scale_channels(weights.at(conv->input(1)), view, factors);
  weights.touch(conv->input(1));
  if (bias.valid()) {
    scale_channels(weights.at(bias), {view.channels, 1}, factors);
    weights.touch(bias);
  }
  for (const auto& [norm, offset] : norms) compensate(graph.node(norm), offset, factors, weights);
  return weights.commit() ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::rewrite
