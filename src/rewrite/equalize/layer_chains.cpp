// SPDX-License-Identifier: MIT
// The walks that find pairs and triples, and the reference's order of them (ref:equalization#pairs,
// ref:equalization#order-of-patterns).
#include "rewrite/equalize/layer_chains.h"

#include <algorithm>

#include "ir/constants.h"
#include "ir/shape.h"
#include "rewrite/weights.h"

namespace quarkq::rewrite {

namespace {

using ir::Graph;
using ir::Node;

bool is_layer(const Node& node) { return node.is("Conv") || node.is("Gemm"); }

bool passes_scale(const Node& node) {
  return node.is("Relu") || node.is("LeakyRelu") || node.is("ReduceMean") || node.is("Pad");
}

/// Plain or depthwise; other grouped Convs mix channels in blocks.
bool is_supported(const Graph& graph, const Node& layer) {
  const int64_t group = layer.int_or("group", 1);
  if (layer.is("Gemm") || group == 1) return true;
  const ir::Tensor* weights = graph.constant(layer.input(1));
  return weights != nullptr && weights->rank() >= 2 && weights->dims()[0] == group && weights->dims()[1] == 1;
}

/// The layer that reads `node`'s result, after operators that pass a scale on; null when there is none to equalize.
const Node* next_layer(const Graph& graph, const plan::Selection& selection, const Node& node) {
  const Node* next = only_consumer(graph, node);
  while (next != nullptr && passes_scale(*next)) next = only_consumer(graph, *next);
  const bool is_found = next != nullptr && is_layer(*next) && selection.selects(*next) && is_supported(graph, *next);
  return is_found ? next : nullptr;
}

void find_pairs(const Graph& graph, const plan::Selection& selection, std::vector<LayerChain>& chains) {
  for (const ir::NodeId id : graph.order()) {
    const Node& head = graph.node(id);
    if (!is_layer(head) || !selection.selects(head)) continue;
    const Node* tail = next_layer(graph, selection, head);
    if (tail == nullptr) continue;
    // The reference forgets a head that it cannot scale when the tail has the attribute group: such a pair takes its
    // place in the order, where the first and last count, and is left alone later.
    const bool tail_says_group = tail->is("Conv") && tail->find("group") != nullptr;
    if (is_supported(graph, head) || tail_says_group) chains.push_back({id, tail->id});
  }
}

/// group 1, then as many groups as outputs, then group 1, all written out.
bool is_triple(const Graph& graph, const LayerChain& convs) {
  for (const ir::NodeId id : convs) {
    if (graph.node(id).find("group") == nullptr) return false;
  }
  const Node& middle = graph.node(convs[1]);
  const int64_t group = middle.int_or("group", 1);
  const ir::Tensor* weights = graph.constant(middle.input(1));
  return graph.node(convs[0]).int_or("group", 1) == 1 && graph.node(convs[2]).int_or("group", 1) == 1 && group > 1 &&
         weights != nullptr && weights->rank() >= 2 && weights->dims()[0] % group == 0 &&
         weights->dims()[0] / group == weights->dims()[1];
}

void find_triples(const Graph& graph, const plan::Selection& selection, std::vector<LayerChain>& chains) {
  auto is_conv = [&](const Node& node) { return node.is("Conv") && selection.selects(node); };
  for (const ir::NodeId id : graph.order()) {
    if (!is_conv(graph.node(id))) continue;
    LayerChain convs = {id};
    const Node* next = only_consumer(graph, graph.node(id));
    while (next != nullptr && convs.size() < 3 && (next->is("Relu") || is_conv(*next))) {
      if (next->is("Conv")) convs.push_back(next->id);
      next = only_consumer(graph, *next);
    }
    if (convs.size() == 3 && is_triple(graph, convs)) chains.push_back(convs);
  }
}

}  // namespace

const Node* only_consumer(const Graph& graph, const Node& node) {
  ir::NodeId found;
  for (const ir::ValueId output : node.outputs) {
    if (!output.valid()) continue;
    for (const ir::Use& use : graph.value(output).uses) {
      if (use.is_capture || use.node == found) continue;
      if (found.valid()) return nullptr;
      found = use.node;
    }
  }
  return found.valid() ? &graph.node(found) : nullptr;
}

std::vector<LayerChain> find_chains(const Graph& graph, const plan::Selection& selection) {
  std::vector<LayerChain> chains;
  find_pairs(graph, selection, chains);
  find_triples(graph, selection, chains);
  return chains;
}

std::vector<LayerChain> find_clipped_pairs(const Graph& graph, const plan::Selection& selection) {
  std::vector<LayerChain> pairs;
  for (const ir::NodeId id : graph.order()) {
    const Node& head = graph.node(id);
    if (!is_layer(head) || !selection.selects(head) || !is_supported(graph, head)) continue;
    const Node* clip = only_consumer(graph, head);
    if (clip == nullptr || !clip->is("Clip")) continue;
    if (const Node* tail = next_layer(graph, selection, *clip)) pairs.push_back({id, tail->id});
  }
  return pairs;
}

std::vector<LayerChain> order_chains(const Graph& graph, const std::vector<LayerChain>& chains) {
  std::vector<std::vector<size_t>> by_head(graph.node_count());
  for (size_t i = 0; i < chains.size(); ++i) by_head[static_cast<size_t>(chains[i][0].index)].push_back(i);
  std::vector<LayerChain> ordered;
  for (const ir::NodeId id : graph.order()) {
    for (const size_t i : by_head[static_cast<size_t>(id.index)]) {
      // Intended: the first chain is added here and once more below, as in the reference.
      if (ordered.empty()) ordered.push_back(chains[i]);
      const bool at_end = ordered.back().size() > chains[i].size();
      ordered.insert(at_end ? ordered.end() : ordered.end() - 1, chains[i]);
    }
  }
  return ordered;
}

// Checks that the reference does not make before it scales a chain: each case would change the function or fail.

namespace {

using ir::Graph;
using ir::Node;

std::string weights_reason(const Graph& graph, const Node& layer, bool may_have_blocks) {
  const ir::Tensor* weights = ir::stored_floats(graph, layer.input(1));
  if (weights == nullptr) return cat(graph.label(layer.id), " has no stored float weight");
  if (graph.use_count(layer.input(1)) > 1) return cat("the weight of ", graph.label(layer.id), " has other readers");
  const int64_t group = layer.int_or("group", 1);
  const bool depthwise = weights->rank() > 2 && weights->dims()[0] == group && weights->dims()[1] == 1;
  if (layer.is("Conv") && group != 1 && !depthwise && !may_have_blocks)
    return cat(graph.label(layer.id), " has blocks of channels");
  return "";
}

std::string bias_reason(const Graph& graph, const Node& layer, int64_t channels, bool may_be_shared) {
  if (!layer.input(2).valid()) return "";
  const ir::Tensor* bias = ir::stored_floats(graph, layer.input(2));
  if (bias == nullptr) return cat("the bias of ", graph.label(layer.id), " is not stored");
  if (!may_be_shared && graph.use_count(layer.input(2)) > 1)
    return cat("the bias of ", graph.label(layer.id), " has other readers");
  const bool per_channel = bias->size() == channels && bias->rank() >= 1 && bias->dims().back() == channels;
  return per_channel ? "" : cat("the bias of ", graph.label(layer.id), " is not one number per channel");
}

/// Where the channels of the value being followed are.
struct ChannelAxis {
  int64_t axis = 1;
  int64_t rank = 4;
};

std::string mean_reason(const Graph& graph, const Node& mean, ChannelAxis& channels) {
  const auto axes = ir::integers_of(graph, mean, 1, "axes");
  if (!axes) return cat(graph.label(mean.id), " has computed axes");
  if (axes->empty() && mean.int_or("noop_with_empty_axes", 0) != 0) return "";
  int64_t dropped = 0, dropped_before = 0;
  const auto places = ir::normalize_axes(*axes, channels.rank);
  if (!places.ok()) return cat(graph.label(mean.id), " has axes that its input lacks");
  for (const int64_t axis : places.value()) {
    if (axis == channels.axis) return cat(graph.label(mean.id), " averages channels");
    ++dropped;
    dropped_before += axis < channels.axis ? 1 : 0;
  }
  if (axes->empty()) return cat(graph.label(mean.id), " averages channels");
  if (mean.int_or("keepdims", 1) != 0) return "";
  channels.axis -= dropped_before;
  channels.rank -= dropped;
  return "";
}

/// Follows the data from one layer to the next and checks everything between.
std::string path_reason(const Graph& graph, const Node& head, const Node& tail, bool outputs_inside) {
  ChannelAxis channels{1, graph.constant(head.input(1))->rank()};
  for (const Node* at = &head;;) {
    const Node* next = only_consumer(graph, *at);
    const ir::Value& value = graph.value(at->output(0));
    if (value.is_output && !outputs_inside) return cat("'", value.name, "' is an output of the model");
    if (value.uses.size() != 1 || next->input(0) != value.id)
      return cat("'", value.name, "' is read in more than one place or not as data");
    std::string reason;
    if (next->is("Pad")) reason = pad_reason(graph, *next, channels.axis, channels.rank);
    if (next->is("ReduceMean")) reason = mean_reason(graph, *next, channels);
    if (!reason.empty()) return reason;
    if (next->id == tail.id) break;
    at = next;
  }
  const bool rows = tail.is("Gemm") && tail.int_or("transA", 0) != 0;
  const int64_t rank = graph.constant(tail.input(1))->rank();
  if (channels.rank != rank || channels.axis != (rows ? 0 : 1))
    return cat(graph.label(tail.id), " reads the channels along another axis");
  return "";
}

}  // namespace

std::string pad_reason(const Graph& graph, const Node& pad, int64_t channel_axis, int64_t rank) {
  const bool copies = pad.string_or("mode", "constant") != "constant";  // copies of values, which scale with the
                                                                        // channel
  if (!copies && ir::number_of(graph, pad, 2, "value", 0.0) != 0.0)
    return cat(graph.label(pad.id), " pads with a value other than zero");
  const auto amounts = ir::integers_of(graph, pad, 1, "pads");
  const auto axes = ir::integers_of(graph, pad, 3, "axes");
  if (!amounts || !axes) return cat(graph.label(pad.id), " has computed pads");
  const size_t count = amounts->size() / 2;
  for (size_t i = 0; i < count; ++i) {
    int64_t axis = i < axes->size() ? (*axes)[i] : static_cast<int64_t>(i);
    if (axis < 0) axis += rank;
    if (axis == channel_axis && ((*amounts)[i] != 0 || (*amounts)[count + i] != 0))
      return cat(graph.label(pad.id), " pads channels");
  }
  return "";
}

std::string unsafe_reason(const Graph& graph, const LayerChain& chain, const Risks& taken) {
  for (const ir::NodeId id : chain) {
    const bool may_have_blocks = taken.blocks && chain.size() == 3 && id == chain[1];
    if (std::string reason = weights_reason(graph, graph.node(id), may_have_blocks); !reason.empty()) return reason;
  }
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    const Node &head = graph.node(chain[i]), &tail = graph.node(chain[i + 1]);
    const auto written = output_channels(head, graph.constant(head.input(1))->dims());
    const auto read = input_channels(tail, graph.constant(tail.input(1))->dims());
    if (!written || !read) return cat("the weights of ", graph.label(tail.id), " have a rank that is not scaled");
    if (written->channels != read->channels)
      return cat(graph.label(tail.id), " reads ", read->channels, " channels, ", written->channels, " are written");
    if (std::string reason = bias_reason(graph, head, written->channels, taken.shared_biases); !reason.empty())
      return reason;
    if (std::string reason = path_reason(graph, head, tail, taken.outputs_inside); !reason.empty()) return reason;
  }
  return "";
}

}  // namespace quarkq::rewrite
