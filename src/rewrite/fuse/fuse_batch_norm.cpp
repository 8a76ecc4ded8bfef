// SPDX-License-Identifier: MIT
// Folds BatchNormalization into the weights and bias of the Conv, ConvTranspose or Gemm before it:
//   y = gamma * (x - mean) / sqrt(variance + epsilon) + beta  =  factor * x + (beta - mean * factor)
#include "numeric/finite.h"
#include "rewrite/driver.h"
#include "rewrite/fold_affine.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
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
  if (!numeric::all_finite(new_weights.data<float>()) || !numeric::all_finite(new_bias.data<float>())) return std::nullopt;

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

}  // namespace quarkq::rewrite
