// SPDX-License-Identifier: MIT
// Reshape, Transpose and Reshape that only reorder or select channels (ShuffleNet), and Gather of channels, become a
// 1x1 Conv whose weights are 0 and 1. Such a Conv computes the same integers if its input and output share a scale.
#include <algorithm>
#include <numeric>

#include "base/index.h"
#include "exec/compile.h"
#include "ir/constants.h"
#include "ir/shape.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr size_t kMostMoves = 6;                     // the longest known chain has 4 nodes
constexpr int64_t kMostElements = int64_t{1} << 24;  // 64 MB of indices

/// One output of a node that moves or selects elements of its input 0.
struct Move {
  ir::NodeId node;
  size_t output = 0;
};

bool moves_elements(const ir::Graph& graph, const ir::Node& node) {
  constexpr const char* kOps[] = {"Reshape", "Transpose", "Gather",    "Slice",
                                  "Split",   "Squeeze",   "Unsqueeze", "Flatten"};
  if (std::ranges::none_of(kOps, [&](const char* op) { return node.is(op); })) return false;
  const bool is_fixed = std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ir::ValueId input) {
    return !input.valid() || graph.constant(input) != nullptr;
  });
  return is_fixed && node.input(0).valid() && graph.constant(node.input(0)) == nullptr;
}

/// Returns image_shape() of a value that is small enough for a list of its elements.
ir::Shape listed_shape(const ir::Graph& graph, ir::ValueId id) {
  ir::Shape dims = image_shape(graph, id);
  const Result<int64_t> count = ir::element_count(dims);
  return count.ok() && count.value() <= kMostElements ? dims : ir::Shape();
}

/// Whether two images differ at most in their channels.
bool is_same_image(const ir::Shape& a, const ir::Shape& b) {
  return !a.empty() && !b.empty() && a[0] == b[0] && a[2] == b[2] && a[3] == b[3];
}

/// The channels of an image that a chain of moves selects.
struct ChannelChoice {
  ir::ValueId input;
  std::vector<Move> moves;        ///< The chain, beginning at the input.
  std::vector<int64_t> channels;  ///< Input channel of each output channel.
};

/// Returns the position in the chain's input of each element of its output. Returns nullopt without a kernel.
Result<std::optional<ir::Tensor>> trace_elements(const ir::Model& model, const std::vector<Move>& moves,
                                                 const ir::Shape& from) {
  ir::Tensor positions = ir::Tensor::allocate(ElementType::kInt32, from);
  std::iota(positions.mutable_data<int32_t>().begin(), positions.mutable_data<int32_t>().end(), 0);
  for (const Move& move : moves) {
    const ir::Node& node = model.graph.node(move.node);
    std::vector<const ir::Tensor*> inputs = {&positions};
    for (size_t i = 1; i < node.inputs.size(); ++i)
      inputs.push_back(node.inputs[i].valid() ? model.graph.constant(node.inputs[i]) : nullptr);
    QQ_TRY(std::vector<ir::Tensor> results, exec::evaluate_node(model.graph, model.opsets, move.node, inputs));
    if (results.size() <= move.output) return std::optional<ir::Tensor>();
    positions = std::move(results[move.output]);
  }
  return std::optional(std::move(positions));
}

/// Returns the input channel of each output channel. Returns an empty list if pixels or samples move.
std::vector<int64_t> channels_of(const ir::Tensor& positions, const ir::Shape& from, const ir::Shape& to) {
  if (positions.dims() != to) return {};
  const std::span<const int32_t> found = positions.data<int32_t>();
  const int64_t pixels = from[2] * from[3];
  std::vector<int64_t> channels;
  for (int64_t c = 0; c < to[1]; ++c) channels.push_back(found[as_index(c * pixels)] / pixels);
  for (int64_t n = 0, at = 0; n < to[0]; ++n) {
    for (int64_t c = 0; c < to[1]; ++c) {
      const int64_t start = (n * from[1] + channels[as_index(c)]) * pixels;
      for (int64_t pixel = 0; pixel < pixels; ++pixel, ++at) {
        if (found[as_index(at)] != start + pixel) return {};
      }
    }
  }
  return channels;
}

bool is_identity(const std::vector<int64_t>& channels, int64_t count) {
  std::vector<int64_t> same(as_index(count));
  std::iota(same.begin(), same.end(), 0);
  return channels == same;
}

/// Returns the choice that ends at `output`, with the shortest chain that contains a Transpose or a Gather.
Result<std::optional<ChannelChoice>> find_choice(const ir::Model& model, ir::ValueId output) {
  const ir::Graph& graph = model.graph;
  const ir::Shape to = listed_shape(graph, output);
  ChannelChoice choice{output, {}, {}};
  bool reorders = false;
  while (!to.empty() && choice.moves.size() < kMostMoves) {
    const ir::Node* node = graph.producer(choice.input);
    if (node == nullptr || !moves_elements(graph, *node)) break;
    const auto place = std::ranges::find(node->outputs, choice.input) - node->outputs.begin();
    choice.moves.insert(choice.moves.begin(), {node->id, static_cast<size_t>(place)});
    choice.input = node->input(0);
    reorders = reorders || node->is("Transpose") || node->is("Gather");
    const ir::Shape from = listed_shape(graph, choice.input);
    if (!reorders || !is_same_image(from, to)) continue;
    QQ_TRY(const std::optional<ir::Tensor> positions, trace_elements(model, choice.moves, from));
    if (positions) choice.channels = channels_of(*positions, from, to);
    if (choice.channels.empty() || is_identity(choice.channels, from[1])) break;
    return std::optional(std::move(choice));
  }
  return std::optional<ChannelChoice>();
}

/// Returns the most groups of channels of which each output group reads only the input group of its number.
int64_t groups_of(const std::vector<int64_t>& channels, int64_t inputs) {
  const auto outputs = static_cast<int64_t>(channels.size());
  for (int64_t groups = std::gcd(inputs, outputs); groups > 1; --groups) {
    if (inputs % groups != 0 || outputs % groups != 0) continue;
    bool fits = true;
    for (int64_t c = 0; c < outputs && fits; ++c)
      fits = channels[as_index(c)] / (inputs / groups) == c / (outputs / groups);
    if (fits) return groups;
  }
  return 1;
}

ir::GraphPatch conv_for_choice(const ir::Graph& graph, const ChannelChoice& choice, ir::ValueId output) {
  const int64_t inputs = graph.value(choice.input).type.dims[1].size;
  const auto outputs = static_cast<int64_t>(choice.channels.size());
  const int64_t groups = groups_of(choice.channels, inputs), depth = inputs / groups;
  ir::Tensor weights = ir::Tensor::allocate(ElementType::kFloat, {outputs, depth, 1, 1});
  const std::span<float> values = weights.mutable_data<float>();
  std::ranges::fill(values, 0.0f);
  for (int64_t c = 0; c < outputs; ++c) values[as_index(c * depth + choice.channels[as_index(c)] % depth)] = 1;
  const std::vector<int64_t> ones = {1, 1}, none = {0, 0, 0, 0};
  const ir::Node& end = graph.node(choice.moves.back().node);
  ir::GraphPatch patch;
  ir::GraphPatch::PatchNode conv{"Conv", "", end.name, {choice.input}, {output}, {}};
  if (end.outputs.size() == 1) patch.remove(end.id);
  conv.inputs.push_back(patch.initializer(graph.value(output).name + "_channels", std::move(weights)));
  conv.attributes = {{"dilations", ones, {}, {}},
                     {"group", groups, {}, {}},
                     {"kernel_shape", ones, {}, {}},
                     {"pads", none, {}, {}},
                     {"strides", ones, {}, {}}};
  for (const Move& move : choice.moves) conv.stands_for.push_back(move.node);
  patch.node(std::move(conv));
  return patch;
}

}  // namespace

Result<Changed> channel_shuffle_to_conv(pass::FloatContext& context) {
  size_t count = 0;
  double macs = 0;
  const auto rule = [&](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    if (node.outputs.size() != 1 || !moves_elements(graph, node)) return std::optional<ir::GraphPatch>();
    QQ_TRY(const std::optional<ChannelChoice> choice, find_choice(context.model, node.output(0)));
    if (!choice) return std::optional<ir::GraphPatch>();
    const ir::Shape from = listed_shape(graph, choice->input);
    const auto outputs = static_cast<double>(choice->channels.size());
    const int64_t depth = from[1] / groups_of(choice->channels, from[1]);
    ++count;
    macs += outputs * static_cast<double>(depth * from[2] * from[3]);
    return std::optional(conv_for_choice(graph, *choice, node.output(0)));
  };
  QQ_TRY(const Changed changed, run_rule(context, "channel-shuffle-to-conv", rule));
  if (count > 0) {
    context.diagnostics.add("channel-shuffle-to-conv", "",
                            cat(count, " of them, ", macs / 1e6, " M multiply-accumulates more"));
  }
  return changed;
}

}  // namespace quarkq::rewrite
