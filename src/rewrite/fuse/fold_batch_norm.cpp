// SPDX-License-Identifier: MIT
// BatchNormalization that is not quantized itself goes into the Gemm or ConvTranspose before it, or through a Concat
// into all layers before that (spec 04 A.7.5, A.7.6). Conv before BatchNormalization is simplification's.
#include <algorithm>

#include "pass/tidy_up.h"
#include "rewrite/fold_into_layer.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

using ir::Graph;
using ir::Node;

/// The node that makes `value` for one reader alone, else null.
const Node* own_producer(const Graph& graph, ir::ValueId value) {
  return value.valid() && graph.sole_use(value) ? graph.producer(value) : nullptr;
}

/// Layers that the reference folds into: `behind_concat` adds Conv and the square Gemm.
bool is_folding_layer(const Graph& graph, const Node& layer, bool behind_concat) {
  if (layer.is("ConvTranspose")) return true;
  if (!layer.is("Gemm")) return behind_concat && layer.is("Conv");
  if (layer.int_or("transB", 0) != 0) return true;
  const ir::Tensor* weight = graph.constant(layer.input(1));
  return behind_concat && weight != nullptr && weight->rank() == 2 && weight->dims()[0] == weight->dims()[1];
}

/// The layers that make the channels of `norm`, in order; empty when it cannot be folded.
std::vector<ir::NodeId> find_layers(const Graph& graph, const Node& norm, const Node& source, bool behind_concat) {
  std::vector<ir::NodeId> layers;
  if (!behind_concat) {
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
    if (!is_folding_layer(graph, graph.node(id), behind_concat)) return {};
    const std::optional<int64_t> own = foldable_channels(graph, graph.node(id));
    if (!own) return {};
    channels += *own;
  }
  return graph.constant(norm.input(1))->size() == channels ? layers : std::vector<ir::NodeId>();
}

/// Removes `norm`; the node before it writes its output.
void bypass(ir::Graph& graph, ir::NodeId norm, ir::NodeId source) {
  ir::GraphEdit edit(graph);
  const ir::ValueId inner = graph.node(norm).input(0), output = graph.node(norm).output(0);
  const std::vector<ir::NodeId> origins = graph.node(norm).origins;
  edit.remove_node(norm);
  edit.set_output(source, 0, {});
  edit.set_output(source, 0, output);
  edit.remove_value(inner);
  ir::Node& kept = edit.node(source);
  kept.origins.insert(kept.origins.end(), origins.begin(), origins.end());
  std::sort(kept.origins.begin(), kept.origins.end());
}

Result<Changed> fold(pass::FloatContext& context, bool behind_concat) {
  ir::Graph& graph = context.graph();
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const Node& norm = graph.node(id);
    if (!norm.is("BatchNormalization") || context.selection.selects(norm)) continue;
    const Node* source = own_producer(graph, norm.input(0));
    const std::optional<ChannelAffine> affine = read_batch_norm(graph, norm, context.settings);
    if (source == nullptr || !affine) continue;
    const std::vector<ir::NodeId> layers = find_layers(graph, norm, *source, behind_concat);
    if (layers.empty()) continue;
    int64_t first = 0;
    for (const ir::NodeId layer : layers) {
      const int64_t channels = *foldable_channels(graph, graph.node(layer));
      fold_into(graph, layer, *affine, first);
      first += channels;
    }
    bypass(graph, id, source->id);
    changed = Changed::kYes;
  }
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace

Result<Changed> fold_batch_norm(pass::FloatContext& context) { return fold(context, /*behind_concat=*/false); }

Result<Changed> fold_batch_norm_after_concat(pass::FloatContext& context) {
  return fold(context, /*behind_concat=*/true);
}

}  // namespace quarkq::rewrite
