// SPDX-License-Identifier: MIT
#include "rewrite/fold_into_layer.h"

#include "ir/stored_floats.h"
#include "plan/constant_codes.h"
#include "rewrite/weights.h"

namespace quarkq::rewrite {
namespace {

/// The weight along the channels written; ConvTranspose has them second.
std::optional<ChannelView> written_channels(const ir::Node& layer, const ir::Shape& dims) {
  if (!layer.is("ConvTranspose")) return output_channels(layer, dims);
  if (dims.size() < 3 || layer.int_or("group", 1) != 1) return std::nullopt;
  int64_t kernel = 1;
  for (size_t i = 2; i < dims.size(); ++i) kernel *= dims[i];
  return ChannelView{dims[1], kernel};
}

/// Stores in place, or in a copy when others read the old one.
void store(ir::GraphEdit& edit, const ir::Graph& graph, ir::NodeId layer, size_t input, ir::Tensor data) {
  const ir::ValueId old = graph.node(layer).input(input);
  if (graph.use_count(old) == 1) return edit.set_constant(old, std::move(data));
  edit.set_input(layer, input, edit.add_initializer(graph.value(old).name, std::move(data)));
}

}  // namespace

std::optional<int64_t> foldable_channels(const ir::Graph& graph, const ir::Node& layer) {
  if (layer.is("Gemm") && (layer.float_or("alpha", 1) != 1 || layer.float_or("beta", 1) != 1)) return std::nullopt;
  const ir::Tensor* weight = ir::stored_floats(graph, layer.input(1));
  if (weight == nullptr) return std::nullopt;
  const std::optional<ChannelView> view = written_channels(layer, weight->dims());
  if (!view) return std::nullopt;
  if (!layer.input(2).valid()) return view->channels;
  const ir::Tensor* bias = ir::stored_floats(graph, layer.input(2));
  const bool per_channel =
      bias != nullptr && bias->rank() >= 1 && bias->size() == view->channels && bias->dims().back() == view->channels;
  return per_channel ? std::optional(view->channels) : std::nullopt;
}

void fold_into(ir::Graph& graph, ir::NodeId id, const ChannelAffine& affine, int64_t first) {
  ir::GraphEdit edit(graph);
  const ir::Tensor weight = *graph.constant(graph.node(id).input(1));
  const ChannelView view = *written_channels(graph.node(id), weight.dims());
  const auto begin = static_cast<size_t>(first), count = static_cast<size_t>(view.channels);
  const std::span factor(affine.factor.data() + begin, count), offset(affine.offset.data() + begin, count);
  std::vector<float> weights = ir::float_values(weight).value();
  scale_channels(weights, view, factor);
  store(edit, graph, id, 1, ir::store_floats(weights, weight.type(), weight.dims()));
  if (!graph.node(id).input(2).valid()) {
    const std::string name = graph.node(id).name + "_bias_4bn";
    const ir::ValueId bias = edit.add_initializer(name, ir::store_floats(offset, weight.type(), {view.channels}));
    if (graph.node(id).inputs.size() > 2) return edit.set_input(id, 2, bias);
    return edit.append_input(id, bias);
  }
  const ir::Tensor bias = *graph.constant(graph.node(id).input(2));
  std::vector<float> biases = ir::float_values(bias).value();
  for (size_t c = 0; c < count; ++c) biases[c] = factor[c] * biases[c] + offset[c];
  store(edit, graph, id, 2, ir::store_floats(biases, bias.type(), bias.dims()));
}

}  // namespace quarkq::rewrite
