// SPDX-License-Identifier: MIT
// Mul, Div, Add and Sub by constants next to a layer become part of its weights and bias: exactly, with a tensor fewer
// to quantize for each. After a layer the constants may differ between channels. Before a layer they are scalars, so
// that the ranges of weights keep their ratios.
#include <algorithm>
#include <cmath>
#include <ranges>

#include "ir/constants.h"
#include "ir/traversal.h"
#include "numeric/real_numbers.h"
#include "rewrite/driver.h"
#include "rewrite/fold_affine.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

constexpr int64_t kBroadcastsLikeNumpy = 7;  // Opset from which these operators broadcast as in NumPy.

/// y = factor * x + offset, one number each, or one for each channel.
struct Affine {
  ir::ValueId input;
  std::vector<double> factor, offset;
};

/// Returns whether a constant of this shape has one element, or one for each channel (axis 1) of a tensor of `rank`.
bool fits_channels(const ir::Shape& dims, int64_t rank) {
  const auto own = static_cast<int64_t>(dims.size());
  if (own > rank) return false;
  for (int64_t axis = 0; axis < own; ++axis) {
    if (dims[static_cast<size_t>(axis)] != 1 && rank - own + axis != 1) return false;
  }
  return true;
}

/// Reads a node as an affine function of a tensor of `rank`.
std::optional<Affine> affine_of(const ir::Graph& graph, const ir::Node& node, int64_t rank) {
  const bool is_product = node.is("Mul") || node.is("Div"), is_sum = node.is("Add") || node.is("Sub");
  if ((!is_product && !is_sum) || node.inputs.size() != 2) return std::nullopt;
  const bool is_second = ir::stored_float32(graph, node.input(1)) != nullptr;
  if (!is_second && !node.is("Mul") && !node.is("Add")) return std::nullopt;
  const ir::Tensor* constant = ir::stored_float32(graph, node.input(is_second ? 1 : 0));
  const ir::ValueId input = node.input(is_second ? 0 : 1);
  if (constant == nullptr || graph.constant(input) != nullptr || !fits_channels(constant->dims(), rank))
    return std::nullopt;
  Affine affine{input, {}, {}};
  for (const float value : constant->data<float>()) {
    const auto number = static_cast<double>(value);
    affine.factor.push_back(node.is("Mul") ? number : node.is("Div") ? 1 / number : 1);
    affine.offset.push_back(node.is("Add") ? number : node.is("Sub") ? -number : 0);
  }
  const bool is_usable = !affine.factor.empty() && numeric::all_finite(affine.factor) &&
                         numeric::all_finite(affine.offset) && std::ranges::find(affine.factor, 0) == affine.factor.end();
  return is_usable ? std::optional(std::move(affine)) : std::nullopt;
}

/// Rank of what a layer of foldable_channels() reads and writes.
int64_t rank_of_layer(const ir::Graph& graph, const ir::Node& layer) {
  return graph.constant(layer.input(1))->rank();
}

bool has_float_weights(const ir::Graph& graph, const ir::Node& layer) {
  const bool is_layer = layer.is("Conv") || layer.is("ConvTranspose") || layer.is("Gemm");
  return is_layer && layer.inputs.size() >= 2 && ir::stored_float32(graph, layer.input(1)) != nullptr &&
         (!layer.input(2).valid() || ir::stored_float32(graph, layer.input(2)) != nullptr);
}

std::vector<double> for_channels(const std::vector<double>& values, int64_t channels) {
  return values.size() == 1 ? std::vector<double>(static_cast<size_t>(channels), values[0]) : values;
}

/// A node after a layer that has no other reader.
std::optional<ir::GraphPatch> fold_into_layer_before(const ir::Graph& graph, const ir::Node& node,
                                                     const plan::Selection& selection) {
  for (const ir::ValueId input : node.inputs) {
    const ir::Node* layer = input.valid() && graph.sole_use(input) ? graph.producer(input) : nullptr;
    if (layer == nullptr || !has_float_weights(graph, *layer) || !selection.takes(*layer)) continue;
    const std::optional<int64_t> channels = foldable_channels(graph, *layer);
    const std::optional<Affine> affine =
        channels ? affine_of(graph, node, rank_of_layer(graph, *layer)) : std::optional<Affine>();
    if (!affine || affine->input != input) return std::nullopt;
    const auto count = static_cast<int64_t>(affine->factor.size());
    if (count != 1 && count != *channels) return std::nullopt;
    ir::GraphPatch patch;
    LayerFolds(graph, patch)
        .add(*layer, {.factor = for_channels(affine->factor, *channels),
                      .offset = for_channels(affine->offset, *channels),
                      .arithmetic = FoldArithmetic::kDouble});
    patch.remove(node.id);
    patch.set_output(layer->id, 0, node.output(0));
    patch.add_origins(layer->id, node.id);
    return patch;
  }
  return std::nullopt;
}

/// Scalar operators between a tensor and its only reader: y = factor * x + offset.
struct Chain {
  ir::ValueId input;
  std::vector<ir::NodeId> nodes = {};  ///< The last one first.
  double factor = 1, offset = 0;
};

Chain chain_before(const ir::Graph& graph, ir::ValueId end, int64_t rank, const plan::Selection& selection) {
  Chain chain{end};
  while (graph.sole_use(chain.input)) {
    const ir::Node* node = graph.producer(chain.input);
    const std::optional<Affine> affine = node != nullptr ? affine_of(graph, *node, rank) : std::optional<Affine>();
    if (!affine || affine->factor.size() != 1 || !selection.takes(*node)) break;
    chain.offset += chain.factor * affine->offset[0];
    chain.factor *= affine->factor[0];
    chain.nodes.push_back(node->id);
    chain.input = affine->input;
  }
  return chain;
}

bool has_pads(const ir::Node& layer) {
  if (layer.is("ConvTranspose")) return true;  // the border reads fewer inputs
  const std::string mode = layer.string_or("auto_pad", "NOTSET");
  if (layer.is("Gemm") || mode == "VALID") return false;
  return mode != "NOTSET" || std::ranges::any_of(layer.ints_or("pads", {}), [](int64_t pad) { return pad != 0; });
}

/// Returns what the offset of the input adds to each output channel.
std::vector<double> offset_of_outputs(const ir::Tensor& weight, const ChannelView& view, double offset) {
  std::vector<double> sums(static_cast<size_t>(view.channels));
  for_each_run(weight.data<float>(), view, [&](size_t channel, std::span<const float> run) {
    for (const float value : run) sums[channel] += offset * static_cast<double>(value);
  });
  return sums;
}

/// The weights take the factor, the bias takes the offset. Where zeros are padded, the offset stays an Add.
std::optional<ir::GraphPatch> fold_into_layer_after(const ir::Graph& graph, const ir::Node& layer,
                                                    const plan::Selection& selection) {
  if (!has_float_weights(graph, layer)) return std::nullopt;
  const std::optional<int64_t> channels = foldable_channels(graph, layer);
  if (!channels) return std::nullopt;
  const Chain chain = chain_before(graph, layer.input(0), rank_of_layer(graph, layer), selection);
  const bool keeps_offset = chain.offset != 0 && has_pads(layer);
  if (chain.nodes.size() <= (keeps_offset ? 1U : 0U) || !std::isfinite(chain.offset / chain.factor))
    return std::nullopt;
  const ir::Tensor& weight = *graph.constant(layer.input(1));
  const std::optional<ChannelView> written = output_channels(layer, weight.dims());
  ChannelAffine affine{.factor = for_channels({chain.factor}, *channels), .arithmetic = FoldArithmetic::kDouble};
  ir::GraphPatch patch;
  for (const ir::NodeId id : chain.nodes) {
    patch.remove(id);
    patch.add_origins(layer.id, id);
  }
  ir::PatchValue input = chain.input;
  if (keeps_offset) {
    const ir::Node& last = graph.node(chain.nodes.front());
    const ir::Value& sum = graph.value(last.output(0));
    const auto moved = static_cast<float>(chain.offset / chain.factor);
    input = patch.value(sum.name + "_moved", sum.type);
    patch.node({"Add",
                "",
                last.name,
                {chain.input, patch.initializer(sum.name + "_offset", ir::Tensor::scalar(moved))},
                {input},
                {}});
  }
  const ir::Tensor* bias = layer.input(2).valid() ? graph.constant(layer.input(2)) : nullptr;
  if (!keeps_offset && chain.offset != 0) {
    if (!written) return std::nullopt;
    affine.offset = offset_of_outputs(weight, *written, chain.offset);
  }
  patch.set_input(layer.id, 0, input);
  patch.set_input(layer.id, 1,
                  patch.initializer(graph.value(layer.input(1)).name,
                                    fold_into_weight(weight, *written_channels(layer, weight.dims()), affine)));
  if (affine.offset.empty()) return patch;
  affine.factor = for_channels({1}, *channels);  // the bias is not multiplied
  patch.set_input(layer.id, 2,
                  patch.initializer(bias != nullptr ? graph.value(layer.input(2)).name : layer.name + "_bias",
                                    ir::Tensor::from<float>({*channels}, fold_into_bias(bias, affine))));
  return patch;
}

}  // namespace

Result<Changed> fold_channel_affines(pass::FloatContext& context) {
  if (context.model.opset() < kBroadcastsLikeNumpy) return Changed::kNo;
  const plan::Selection& selection = context.selection;
  return run_rule(context, "fold-channel-affines", [&](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    if (!selection.takes(node)) return std::optional<ir::GraphPatch>();
    std::optional<ir::GraphPatch> patch = fold_into_layer_before(graph, node, selection);
    return patch ? std::move(patch) : fold_into_layer_after(graph, node, selection);
  });
}

}  // namespace quarkq::rewrite
