// SPDX-License-Identifier: MIT
// Checks that the reference does not make before it scales a chain: each case would change the function or fail.
#include "ir/arguments.h"
#include "ir/axes.h"
#include "ir/stored_floats.h"
#include "rewrite/equalize/patterns.h"
#include "rewrite/weights.h"

namespace quarkq::rewrite {
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
  const bool copies = pad.string_or("mode", "constant") != "constant";  // of values, which scale along
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
