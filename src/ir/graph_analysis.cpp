// SPDX-License-Identifier: MIT
#include "ir/graph_analysis.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>
#include <string_view>

#include "ir/constants.h"

namespace quarkq::ir {

namespace {

double size_of(const Dim& dim) { return dim.known() ? static_cast<double>(dim.size) : 1; }

double elements_of(const ValueType& type) {
  double count = 1;
  for (const Dim& dim : type.dims) count *= size_of(dim);
  return count;
}

/// The dimension `back` places from the last one.
double dim_from_back(const ValueType& type, size_t back) {
  return back < type.dims.size() ? size_of(type.dims[type.dims.size() - 1 - back]) : 1;
}

}  // namespace

double macs_of(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || !node.input(0).valid() || !node.input(1).valid() || !node.output(0).valid()) return 0;
  const ValueType &x = graph.value(node.input(0)).type, &w = graph.value(node.input(1)).type;
  const ValueType& y = graph.value(node.output(0)).type;
  // The first dimension of the weights: output channels of Conv, input channels of ConvTranspose.
  if (node.is("Conv") && !w.dims.empty()) return elements_of(y) * elements_of(w) / size_of(w.dims[0]);
  if (node.is("ConvTranspose") && !w.dims.empty()) return elements_of(x) * elements_of(w) / size_of(w.dims[0]);
  if (node.is("MatMul")) return elements_of(y) * dim_from_back(x, 0);
  if (node.is("Gemm")) return elements_of(y) * dim_from_back(x, node.int_or("transA", 0) != 0 ? 1 : 0);
  return 0;
}

double macs_of(const Graph& graph) {
  double sum = 0;
  for (const NodeId id : graph.order()) sum += macs_of(graph, graph.node(id));
  return sum;
}

size_t count_unsized_macs(const Graph& graph) {
  return static_cast<size_t>(std::ranges::count_if(graph.order(), [&](NodeId id) {
    const Node& node = graph.node(id);
    if (macs_of(graph, node) == 0) return false;
    const ValueType& type = graph.value(node.output(0)).type;
    return !type.has_shape ||
           std::ranges::any_of(type.dims | std::views::drop(1), [](const Dim& dim) { return !dim.known(); });
  }));
}

double mac_share(const Graph& graph, const std::set<NodeId>& nodes) {
  const double all = macs_of(graph);
  double chosen = 0;
  for (const NodeId id : graph.order()) {
    if (nodes.contains(id)) chosen += macs_of(graph, graph.node(id));
  }
  return all > 0 ? chosen / all : 0;
}

namespace {

/// Inputs whose number has its bit set in `inputs` are data; the others are shapes, indices and conditions.
constexpr struct {
  std::string_view op;
  uint32_t inputs;
  FeedKind kind;
} kFeeds[] = {
    {"Softmax", 1, FeedKind::kSoftmax}, {"Add", ~0u, FeedKind::kAdds},    {"Sub", 1, FeedKind::kAdds},
    {"Where", 6, FeedKind::kMoves},     {"Reshape", 1, FeedKind::kMoves}, {"Transpose", 1, FeedKind::kMoves},
    {"Slice", 1, FeedKind::kMoves},     {"Squeeze", 1, FeedKind::kMoves}, {"Unsqueeze", 1, FeedKind::kMoves},
    {"Expand", 1, FeedKind::kMoves},    {"Flatten", 1, FeedKind::kMoves}, {"Identity", 1, FeedKind::kMoves},
    {"Concat", ~0u, FeedKind::kMoves},  {"Split", 1, FeedKind::kMoves},   {"Tile", 1, FeedKind::kMoves},
    {"Gather", 1, FeedKind::kMoves},    {"Cast", 1, FeedKind::kMoves},    {"Max", ~0u, FeedKind::kMoves},
    {"Min", ~0u, FeedKind::kMoves},     {"Clip", 1, FeedKind::kMoves},    {"Dropout", 1, FeedKind::kMoves},
    {"Mul", 3, FeedKind::kScales},      {"Div", 1, FeedKind::kScales},
};

/// Returns the factor by which a Mul or Div scales its other input, or nullopt if it is not one positive constant.
std::optional<float> constant_factor(const Graph& graph, const Node& node, int32_t input) {
  const Tensor* constant = graph.constant(node.input(input == 0 ? 1 : 0));
  if (constant == nullptr || constant->size() != 1) return std::nullopt;
  const Result<std::vector<float>> values = float_values(*constant);
  if (!values.ok() || !(values.value()[0] > 0) || !std::isfinite(values.value()[0])) return std::nullopt;
  return node.is("Div") ? 1 / values.value()[0] : values.value()[0];
}

bool is_such(const Graph& graph, ValueId id, const std::vector<bool>& known) {
  const Value& value = graph.value(id);
  if (value.is_output || value.uses.empty()) return false;
  return std::all_of(value.uses.begin(), value.uses.end(), [&](const Use& use) {
    const Node& reader = graph.node(use.node);
    const FeedKind kind = use.is_capture ? FeedKind::kNone : feed_kind(graph, reader, use.input);
    if (kind == FeedKind::kNone || kind == FeedKind::kSoftmax) return kind == FeedKind::kSoftmax;
    return std::all_of(reader.outputs.begin(), reader.outputs.end(),
                       [&](ValueId output) { return !output.valid() || known[static_cast<size_t>(output.index)]; });
  });
}

}  // namespace

FeedKind feed_kind(const Graph& graph, const Node& node, int32_t input) {
  if (!node.domain.empty() || input > 31) return FeedKind::kNone;
  for (const auto& row : kFeeds) {
    if (row.op != node.op) continue;
    const bool is_fed =
        (row.inputs >> input & 1) != 0 && (row.kind != FeedKind::kScales || constant_factor(graph, node, input));
    return is_fed ? row.kind : FeedKind::kNone;
  }
  return FeedKind::kNone;
}

float feed_factor(const Graph& graph, const Node& node, int32_t input) {
  return feed_kind(graph, node, input) == FeedKind::kScales ? *constant_factor(graph, node, input) : 1;
}

std::vector<bool> subtracted_before_softmax(const Graph& graph, const std::vector<bool>& only_softmax) {
  std::vector<bool> such(graph.value_count());
  for (size_t i = 0; i < such.size(); ++i) {
    const ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id) || graph.value(id).is_output || graph.value(id).uses.empty()) continue;
    such[i] = std::ranges::all_of(graph.value(id).uses, [&](const Use& use) {
      const Node& reader = graph.node(use.node);
      return !use.is_capture && use.input == 1 && reader.is("Sub") &&
             only_softmax[static_cast<size_t>(reader.output(0).index)];
    });
  }
  return such;
}

std::vector<bool> feeds_softmax_only(const Graph& graph) {
  std::vector<bool> such(graph.value_count());
  for (auto id = graph.order().rbegin(); id != graph.order().rend(); ++id) {
    for (const ValueId output : graph.node(*id).outputs) {
      if (output.valid()) such[static_cast<size_t>(output.index)] = is_such(graph, output, such);
    }
  }
  for (const auto* outer : {&graph.initializers(), &graph.inputs()}) {
    for (const ValueId id : *outer) such[static_cast<size_t>(id.index)] = is_such(graph, id, such);
  }
  return such;
}

}  // namespace quarkq::ir
