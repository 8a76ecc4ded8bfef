// SPDX-License-Identifier: MIT
// Folds a zero Pad of the spatial dimensions into the pads of the Conv that is its only reader
// (ref:rewrites#simplifier, FusionPadConv).
#include "numeric/real_numbers.h"
#include "pass/output_guard.h"
#include "rewrite/driver.h"
#include "rewrite/fold_affine.h"
#include "rewrite/pads.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

std::optional<ir::GraphPatch> fuse(const ir::Graph& graph, const ir::Node& conv) {
  if (!conv.is("Conv")) return std::nullopt;
  const ir::Node* pad = graph.producer(conv.input(0));
  if (pad == nullptr || !graph.sole_use(conv.input(0))) return std::nullopt;
  const std::optional<SpatialPad> amounts =
      read_spatial_pad(*pad, [&](ir::ValueId value) { return graph.constant(value); });
  return amounts && amounts->value == 0 ? merge_pads(conv, *pad, *amounts, conv.name) : std::nullopt;
}

}  // namespace

Result<Changed> fuse_pad_into_conv(pass::FloatContext& context) {
  return run_rule(context, "fuse-pad-into-conv",
                  [](const ir::Graph& graph, const ir::Node& node) -> Result<std::optional<ir::GraphPatch>> {
                    return fuse(graph, node);
                  });
}

// Folds BatchNormalization into the weights and bias of the Conv, ConvTranspose or Gemm before it:
//   y = gamma * (x - mean) / sqrt(variance + epsilon) + beta  =  factor * x + (beta - mean * factor)

namespace {

using ir::Tensor;

/// Factor and offset of an inference-time BatchNormalization with constant float parameters.
std::optional<ChannelAffine> affine_of_norm(const ir::Graph& graph, const ir::Node& node) {
  NormTensors params;
  for (size_t i = 0; i < params.size(); ++i) {
    params[i] = graph.constant(node.input(i + 1));
    if (params[i] == nullptr || params[i]->type() != ElementType::kFloat || params[i]->rank() != 1) return std::nullopt;
    if (params[i]->size() != params[0]->size()) return std::nullopt;
  }
  if (node.int_or("training_mode", 0) != 0) return std::nullopt;
  return norm_affine(params, node.float_or("epsilon", 1e-5f), FoldArithmetic::kDouble);
}

std::optional<ChannelView> channels_of_layer(const ir::Node& layer, const Tensor& weights) {
  if (layer.is("Gemm") && (layer.float_or("alpha", 1) != 1 || layer.float_or("beta", 1) != 1)) return std::nullopt;
  return written_channels(layer, weights.dims());
}

std::optional<ir::GraphPatch> fold_into_producer(const ir::Graph& graph, const ir::Node& norm) {
  if (!norm.is("BatchNormalization") || norm.outputs.size() != 1) return std::nullopt;
  const ir::Node* producer = graph.producer(norm.input(0));
  if (producer == nullptr || !graph.sole_use(norm.input(0)) || producer->inputs.size() < 2) return std::nullopt;
  const Tensor* weights = graph.constant(producer->input(1));
  const Tensor* bias = graph.constant(producer->input(2));
  if (weights == nullptr || weights->type() != ElementType::kFloat || weights->size() == 0) return std::nullopt;
  if (producer->input(2).valid() && (bias == nullptr || bias->type() != ElementType::kFloat)) return std::nullopt;
  const std::optional<ChannelView> view = channels_of_layer(*producer, *weights);
  const std::optional<ChannelAffine> affine = affine_of_norm(graph, norm);
  if (!view || !affine || static_cast<int64_t>(affine->factor.size()) != view->channels) return std::nullopt;
  if (bias != nullptr && bias->size() != view->channels) return std::nullopt;
  Tensor new_weights = fold_into_weight(*weights, *view, *affine);
  Tensor new_bias = Tensor::from<float>({view->channels}, fold_into_bias(bias, *affine));
  if (!numeric::all_finite(new_weights.data<float>()) || !numeric::all_finite(new_bias.data<float>()))
    return std::nullopt;

  ir::GraphPatch patch;
  const std::string& weight_name = graph.value(producer->input(1)).name;
  ir::GraphPatch::PatchNode merged{producer->op,         producer->domain, producer->name,
                                   {producer->input(0)}, {norm.output(0)}, producer->attributes};
  merged.inputs.push_back(patch.initializer(weight_name, std::move(new_weights)));
  merged.inputs.push_back(patch.initializer(
      bias != nullptr ? graph.value(producer->input(2)).name : weight_name + "_bias", std::move(new_bias)));
  patch.remove(producer->id);
  patch.remove(norm.id);
  patch.node(std::move(merged));
  return patch;
}

}  // namespace

Result<Changed> fuse_batch_norm(pass::FloatContext& context) {
  return run_rule(context, "fuse-batch-norm",
                  [](const ir::Graph& graph, const ir::Node& node) -> Result<std::optional<ir::GraphPatch>> {
                    return fold_into_producer(graph, node);
                  });
}

// BatchNormalization that is not quantized itself is folded into the Gemm or ConvTranspose before it, or through a
// Concat into all layers before that (ref:rewrites#batch-normalization). Conv before BatchNormalization is
// simplification's.

namespace {

using ir::Graph;
using ir::Node;

/// The node that makes `value` for one reader alone, else null.
const Node* own_producer(const Graph& graph, ir::ValueId value) {
  return graph.sole_use(value) ? graph.producer(value) : nullptr;
}

/// Layers that the reference folds into: `after_concat` adds Conv and the square Gemm.
bool is_folding_layer(const Graph& graph, const Node& layer, bool after_concat) {
  if (layer.is("ConvTranspose")) return true;
  if (!layer.is("Gemm")) return after_concat && layer.is("Conv");
  if (layer.int_or("transB", 0) != 0) return true;
  const ir::Tensor* weight = graph.constant(layer.input(1));
  return after_concat && weight != nullptr && weight->rank() == 2 && weight->dims()[0] == weight->dims()[1];
}

/// The layers that make the channels of `norm`, in order; empty when it cannot be folded.
std::vector<ir::NodeId> find_layers(const Graph& graph, const Node& norm, const Node& source, bool after_concat) {
  std::vector<ir::NodeId> layers;
  if (!after_concat) {
    layers.push_back(source.id);
  } else {
    if (!source.is("Concat") || source.int_or("axis", 0) != 1) return {};
    for (const ir::ValueId input : source.inputs) {
      const Node* layer = own_producer(graph, input);
      if (layer == nullptr) return {};
      layers.push_back(layer->id);
    }
  }
  int64_t channels = 0;
  for (const ir::NodeId id : layers) {
    if (!is_folding_layer(graph, graph.node(id), after_concat)) return {};
    const std::optional<int64_t> own = foldable_channels(graph, graph.node(id));
    if (!own) return {};
    channels += *own;
  }
  return graph.constant(norm.input(1))->size() == channels ? layers : std::vector<ir::NodeId>();
}

/// The layers take `affine`, channel after channel; `source` writes what `norm` wrote.
ir::GraphPatch fold_into_layers(const Graph& graph, const Node& norm, const Node& source,
                                const std::vector<ir::NodeId>& layers, const ChannelAffine& affine) {
  ir::GraphPatch patch;
  LayerFolds folds(graph, patch);
  int64_t first = 0;
  for (const ir::NodeId layer : layers) {
    const int64_t channels = *foldable_channels(graph, graph.node(layer));
    folds.add(graph.node(layer), affine.part(first, channels));
    first += channels;
  }
  patch.remove(norm.id);
  patch.set_output(source.id, 0, norm.output(0));
  patch.add_origins(source.id, norm.id);
  return patch;
}

Result<Changed> fold_norms(pass::FloatContext& context, bool after_concat) {
  const auto rule = [&](const Graph& graph, const Node& norm) -> Proposal {
    if (!norm.is("BatchNormalization") || context.selection.selects(norm)) return std::optional<ir::GraphPatch>();
    const Node* source = own_producer(graph, norm.input(0));
    const std::optional<ChannelAffine> affine = read_batch_norm(graph, norm, context.settings);
    if (source == nullptr || !affine) return std::optional<ir::GraphPatch>();
    const std::vector<ir::NodeId> layers = find_layers(graph, norm, *source, after_concat);
    if (layers.empty()) return std::optional<ir::GraphPatch>();
    return std::optional(fold_into_layers(graph, norm, *source, layers, *affine));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace

Result<Changed> fold_batch_norm(pass::FloatContext& context) { return fold_norms(context, /*after_concat=*/false); }

Result<Changed> fold_batch_norm_after_concat(pass::FloatContext& context) {
  return fold_norms(context, /*after_concat=*/true);
}

}  // namespace quarkq::rewrite
