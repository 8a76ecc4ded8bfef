// SPDX-License-Identifier: MIT
// BatchNormalization that is not quantized itself is folded into the Gemm or ConvTranspose before it, or through a
// Concat into all layers before that (ref:rewrites#batch-normalization). Conv before BatchNormalization is
// simplification's.
#include "pass/tidy_up.h"
#include "rewrite/driver.h"
#include "rewrite/fold_affine.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
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
