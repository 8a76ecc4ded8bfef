// SPDX-License-Identifier: MIT
#include "rewrite/hardware/channel_scales.h"

#include <algorithm>
#include <string_view>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/shape.h"
#include "rewrite/fold_affine.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/weights.h"

namespace quarkq::rewrite {
namespace {

constexpr int64_t kChannelAxis = 1;

/// Operators of one data input that are homogeneous in each channel: f(s x) = s f(x) for s > 0.
constexpr std::string_view kPassers[] = {"MaxPool",  "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Resize",
                                         "Upsample", "Relu",        "LeakyRelu",         "Identity",      "Dropout",
                                         "PRelu"};
/// Operators on operands of the same channels that are homogeneous in all of them together.
constexpr std::string_view kSums[] = {"Add", "Sub", "Sum", "Max", "Min"};

template <size_t N>
bool is_one_of(const ir::Node& node, const std::string_view (&ops)[N]) {
  return node.domain.empty() && std::ranges::find(ops, std::string_view(node.op)) != std::end(ops);
}

size_t axis_channels(const ir::Value& value) {
  const ir::ValueType& type = value.type;
  if (value.constant || !type.is_tensor() || !type.is_static() || type.dims.size() < 2) return 0;
  return static_cast<size_t>(std::max<int64_t>(0, type.dims[kChannelAxis].size));
}

/// Returns the axis, counted from the front, or -1 if it is out of range.
int64_t axis_of(const ir::Graph& graph, const ir::Node& node, int64_t by_default) {
  const auto rank = static_cast<int64_t>(graph.value(node.input(0)).type.dims.size());
  const Result<int64_t> axis = ir::normalize_axis(node.int_or("axis", by_default), rank);
  return axis.ok() ? axis.value() : -1;
}

/// A view that keeps channels: [N, C, 1, 1] to [N, C] or back.
bool keeps_channels(const ir::Graph& graph, const ir::Node& node) {
  if (!is_view(node)) return false;
  const ir::Value &from = graph.value(node.input(0)), &to = graph.value(node.output(0));
  const size_t channels = axis_channels(from);
  return channels > 0 && channels == axis_channels(to) && from.type.dims[0].size == to.type.dims[0].size;
}

const std::vector<double>* find_factors(const ChannelFactors& factors, ir::ValueId value) {
  const auto found = factors.find(value);
  return found == factors.end() ? nullptr : &found->second;
}

/// Gives the layer an initializer of its own at this input.
ir::ValueId own_constant(ir::Graph& graph, ir::NodeId layer, size_t input) {
  const ir::ValueId shared = graph.node(layer).input(input);
  if (graph.use_count(shared) == 1 && !graph.value(shared).is_output) return shared;
  ir::GraphEdit edit(graph);
  const ir::ValueId own = edit.add_initializer(graph.value(shared).name, *graph.constant(shared));
  edit.set_input(layer, input, own);
  return own;
}

}  // namespace

ChannelScales::ChannelScales(const ir::Graph& graph, const std::set<ir::NodeId>& gates) {
  size_t elements = 0;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const auto id = ir::ValueId{static_cast<int32_t>(i)};
    first_.push_back(elements);
    count_.push_back(graph.is_alive(id) ? axis_channels(graph.value(id)) : 0);
    elements += count_.back();
  }
  parent_.resize(elements);
  std::iota(parent_.begin(), parent_.end(), size_t{0});
  pinned_.resize(elements);
  for (const ir::ValueId input : graph.inputs()) pin(input);
  for (const ir::ValueId output : graph.outputs()) pin(output);
  for (const ir::NodeId id : graph.order()) add_node(graph, graph.node(id), gates);
  for (size_t i = 0; i < elements; ++i) {
    if (pinned_[i]) pinned_[find(i)] = true;
  }
}

size_t ChannelScales::channels(ir::ValueId value) const { return count_[static_cast<size_t>(value.index)]; }

ChannelScales::Group ChannelScales::group(ir::ValueId value, size_t channel) const {
  return find(first_[static_cast<size_t>(value.index)] + channel);
}

size_t ChannelScales::find(size_t element) const {
  while (parent_[element] != element) {
    parent_[element] = parent_[parent_[element]];
    element = parent_[element];
  }
  return element;
}

void ChannelScales::tie(ir::ValueId from, size_t from_channel, ir::ValueId to, size_t to_channel, size_t count) {
  const size_t a = first_[static_cast<size_t>(from.index)] + from_channel;
  const size_t b = first_[static_cast<size_t>(to.index)] + to_channel;
  for (size_t i = 0; i < count; ++i) parent_[find(a + i)] = find(b + i);
}

void ChannelScales::tie_all(ir::ValueId from, ir::ValueId to) {
  const size_t count = channels(from);
  if (count > 0 && count == channels(to)) return tie(from, 0, to, 0, count);
  pin(from);
  pin(to);
}

void ChannelScales::pin(ir::ValueId value) {
  if (!value.valid()) return;
  const auto place = static_cast<size_t>(value.index);
  for (size_t i = 0; i < count_[place]; ++i) pinned_[first_[place] + i] = true;
}

void ChannelScales::tie_operands(const ir::Graph& graph, const ir::Node& node) {
  const ir::ValueId result = node.output(0);
  for (const ir::ValueId input : node.inputs) {
    const bool is_aligned = graph.value(input).type.dims.size() == graph.value(result).type.dims.size();
    if (!is_aligned) pin(input);
    is_aligned ? tie_all(input, result) : pin(result);
  }
}

void ChannelScales::tie_concat(const ir::Graph& graph, const ir::Node& node) {
  const bool joins_channels = axis_of(graph, node, kChannelAxis) == kChannelAxis;
  size_t at = 0;
  for (const ir::ValueId input : node.inputs) {
    if (!joins_channels || channels(input) == 0 || at + channels(input) > channels(node.output(0))) {
      tie_all(input, node.output(0));
      continue;
    }
    tie(input, 0, node.output(0), at, channels(input));
    at += channels(input);
  }
  if (!joins_channels || at == channels(node.output(0))) return;
  for (const ir::ValueId input : node.inputs) pin(input);
  pin(node.output(0));
}

void ChannelScales::tie_parts(const ir::Graph& graph, const ir::Node& node) {
  size_t at = 0;
  for (const ir::ValueId output : node.outputs) {
    if (!output.valid()) return pin(node.input(0));
    if (axis_of(graph, node, 0) != kChannelAxis) {
      tie_all(node.input(0), output);
    } else if (at + channels(output) <= channels(node.input(0))) {
      tie(node.input(0), at, output, 0, channels(output));
      at += channels(output);
    }
  }
}

void ChannelScales::add_node(const ir::Graph& graph, const ir::Node& node, const std::set<ir::NodeId>& gates) {
  if (gates.contains(node.id) || is_scalable_layer(graph, node)) return;
  if (is_one_of(node, kPassers) || keeps_channels(graph, node)) return tie_all(node.input(0), node.output(0));
  if (is_one_of(node, kSums)) return tie_operands(graph, node);
  if (node.is("Concat")) return tie_concat(graph, node);
  if (node.is("Split")) return tie_parts(graph, node);
  for (const ir::ValueId input : node.inputs) pin(input);
  for (const ir::ValueId output : node.outputs) pin(output);
  for (const ir::Capture& capture : node.captures) pin(capture.outer);
}

bool is_scalable_layer(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Conv") && !node.is("ConvTranspose") && !node.is("Gemm")) return false;
  const ir::Tensor* weight = ir::stored_floats(graph, node.input(1));
  if (weight == nullptr || weight->rank() < 2 || !foldable_channels(graph, node)) return false;
  return !node.is("Gemm") || node.int_or("transA", 0) == 0;
}

void rescale_layers(ir::Graph& graph, const ChannelFactors& factors, const ChannelFactors& shifts) {
  WorkingWeights weights(graph);
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (!is_scalable_layer(graph, graph.node(id))) continue;
    const ir::ValueId input = graph.node(id).input(0), output = graph.node(id).output(0);
    const std::vector<double>*read = find_factors(factors, input), *written = find_factors(factors, output);
    const std::vector<double>* shift = find_factors(shifts, output);
    if (read != nullptr || written != nullptr) {
      const ir::ValueId weight = own_constant(graph, id, 1);
      const ir::Node& layer = graph.node(id);
      const ir::Shape& dims = graph.constant(weight)->dims();
      std::vector<float>& values = weights.at(weight);
      std::vector<double> exact(values.begin(), values.end());  // rounded once, after both factors
      if (written != nullptr) scale_channels<double, double>(exact, *written_channels(layer, dims), *written);
      if (read != nullptr) scale_channels<double, double>(exact, read_channels(layer, dims), reciprocals(*read));
      values = to_floats(exact);
      weights.touch(weight);
    }
    if ((written == nullptr && shift == nullptr) || !graph.node(id).input(2).valid()) continue;
    const ir::ValueId bias = own_constant(graph, id, 2);
    std::vector<float>& values = weights.at(bias);
    for (size_t c = 0; c < values.size(); ++c) {
      const double scaled = values[c] * (written == nullptr ? 1 : (*written)[c]);
      values[c] = static_cast<float>(scaled + (shift == nullptr ? 0 : (*shift)[c]));
    }
    weights.touch(bias);
  }
  weights.commit();
}

}  // namespace quarkq::rewrite
