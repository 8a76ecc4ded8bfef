// SPDX-License-Identifier: MIT
#include "ir/tail.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace quarkq::ir {
namespace {

constexpr std::string_view kLayers[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN"};
constexpr std::string_view kActivations[] = {"Relu", "LeakyRelu", "PRelu", "Clip"};
constexpr std::string_view kDecoding[] = {"Concat", "Split", "Slice",   "Gather",           "GatherND",
                                          "TopK",   "Exp",   "NonZero", "NonMaxSuppression"};

template <size_t N>
bool is_one_of(const Node& node, const std::string_view (&ops)[N]) {
  return node.domain.empty() && std::find(std::begin(ops), std::end(ops), node.op) != std::end(ops);
}

/// A Conv with one output channel and a 1 x 1 kernel after a Softmax: the mean of a distribution over bins.
bool weighs_bins(const Graph& graph, const Node& node) {
  if (!node.is("Conv") || !node.input(1).valid()) return false;
  const std::vector<Dim>& dims = graph.value(node.input(1)).type.dims;
  const bool is_one_by_one = dims.size() == 4 && dims[0].size == 1 && dims[2].size == 1 && dims[3].size == 1;
  const Node* before = graph.producer(node.input(0));
  for (int i = 0; i < 2 && before != nullptr && before->is("Transpose"); ++i) before = graph.producer(before->input(0));
  return is_one_by_one && before != nullptr && before->is("Softmax");
}

bool is_layer(const Graph& graph, const Node& node) { return has_layer_op(node) && !weighs_bins(graph, node); }

/// The only reader of a value that is made by none of the tail's nodes.
bool is_activation_of_layer(const Graph& graph, const Node& node, const std::set<NodeId>& tail) {
  if (!is_one_of(node, kActivations) || !node.input(0).valid() || graph.use_count(node.input(0)) != 1) return false;
  const Node* source = graph.producer(node.input(0));
  return source != nullptr && !tail.contains(source->id);
}

/// Those from which no layer is reached, in the reverse of the node order.
std::set<NodeId> nodes_after_layers(const Graph& graph) {
  std::set<NodeId> before;  // layers, and what leads to them
  for (auto id = graph.order().rbegin(); id != graph.order().rend(); ++id) {
    const Node& node = graph.node(*id);
    const auto leads = [&](ValueId output) {
      if (!output.valid()) return false;
      const std::vector<Use>& uses = graph.value(output).uses;
      return std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return before.contains(use.node); });
    };
    if (is_layer(graph, node) || std::any_of(node.outputs.begin(), node.outputs.end(), leads)) before.insert(*id);
  }
  std::set<NodeId> after;
  for (const NodeId id : graph.order()) {
    if (!before.contains(id)) after.insert(id);
  }
  return before.empty() ? std::set<NodeId>() : after;
}

std::vector<ValueId> inputs_of(const Graph& graph, const std::set<NodeId>& nodes) {
  std::vector<ValueId> inputs;
  const auto take = [&](ValueId value) {
    if (!value.valid() || graph.constant(value) != nullptr) return;
    const Node* source = graph.producer(value);
    const bool is_inside = source != nullptr && nodes.contains(source->id);
    if (!is_inside && std::find(inputs.begin(), inputs.end(), value) == inputs.end()) inputs.push_back(value);
  };
  for (const NodeId id : graph.order()) {
    if (!nodes.contains(id)) continue;
    for (const ValueId input : graph.node(id).inputs) take(input);
    for (const Capture& capture : graph.node(id).captures) take(capture.outer);
  }
  return inputs;
}

}  // namespace

bool has_layer_op(const Node& node) { return is_one_of(node, kLayers); }

Tail find_tail(const Graph& graph) {
  Tail tail{nodes_after_layers(graph), {}};
  for (const NodeId id : graph.order()) {
    if (tail.nodes.contains(id) && is_activation_of_layer(graph, graph.node(id), tail.nodes)) tail.nodes.erase(id);
  }
  const bool decodes = std::any_of(tail.nodes.begin(), tail.nodes.end(),
                                   [&](NodeId id) { return is_one_of(graph.node(id), kDecoding); });
  if (!decodes) return {};
  tail.inputs = inputs_of(graph, tail.nodes);
  return tail;
}

}  // namespace quarkq::ir
