// SPDX-License-Identifier: MIT
// Folds BatchNormalization into the weights and bias of the Conv, ConvTranspose or Gemm before it:
//   y = gamma * (x - mean) / sqrt(variance + epsilon) + beta  =  factor * x + (beta - mean * factor)
#include <cmath>

#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

using ir::Tensor;

/// Per-channel factor and offset of an inference-time BatchNormalization with constant float parameters.
struct Affine {
  std::vector<double> factor, offset;
};

std::optional<Affine> read_affine(const ir::Graph& graph, const ir::Node& node) {
  const Tensor* params[4];
  for (size_t i = 0; i < 4; ++i) {
    params[i] = graph.constant(node.input(i + 1));
    if (params[i] == nullptr || params[i]->type() != ElementType::kFloat || params[i]->rank() != 1) return std::nullopt;
    if (params[i]->size() != params[0]->size()) return std::nullopt;
  }
  if (node.int_or("training_mode", 0) != 0) return std::nullopt;
  const double epsilon = node.float_or("epsilon", 1e-5f);
  Affine affine;
  for (size_t c = 0; c < static_cast<size_t>(params[0]->size()); ++c) {
    const double factor = params[0]->data<float>()[c] / std::sqrt(params[3]->data<float>()[c] + epsilon);
    affine.factor.push_back(factor);
    affine.offset.push_back(params[1]->data<float>()[c] - params[2]->data<float>()[c] * factor);
  }
  return affine;
}

/// Which output channel each weight element belongs to: index / inner % channels, plus a per-group base.
struct ChannelMap {
  int64_t channels = 0;    ///< output channels in all
  int64_t inner = 1;       ///< elements per step of the channel dimension
  int64_t per_group = 0;   ///< channels per step of the outer group (ConvTranspose), else = channels
  int64_t group_size = 0;  ///< weight elements per group
  int64_t channel_of(int64_t index) const { return index / group_size * per_group + index / inner % per_group; }
};

std::optional<ChannelMap> map_channels(const ir::Node& producer, const Tensor& weights) {
  const ir::Shape& dims = weights.dims();
  int64_t kernel = 1;
  for (size_t i = 2; i < dims.size(); ++i) kernel *= dims[i];
  if (producer.is("Conv") && dims.size() >= 3) {
    return ChannelMap{dims[0], dims[1] * kernel, dims[0], weights.size()};
  }
  if (producer.is("ConvTranspose") && dims.size() >= 3) {
    const int64_t groups = producer.int_or("group", 1);
    if (groups < 1 || dims[0] % groups != 0) return std::nullopt;
    return ChannelMap{dims[1] * groups, kernel, dims[1], weights.size() / groups};
  }
  if (producer.is("Gemm") && dims.size() == 2 && producer.float_or("alpha", 1) == 1 &&
      producer.float_or("beta", 1) == 1) {
    const bool transposed = producer.int_or("transB", 0) != 0;
    return ChannelMap{transposed ? dims[0] : dims[1], transposed ? dims[1] : 1, transposed ? dims[0] : dims[1],
                      weights.size()};
  }
  return std::nullopt;
}

bool all_finite(const Tensor& tensor) {
  for (const float value : tensor.data<float>()) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

std::optional<ir::GraphPatch> fold_into(const ir::Graph& graph, const ir::Node& norm) {
  if (!norm.is("BatchNormalization") || norm.outputs.size() != 1) return std::nullopt;
  const ir::Node* producer = graph.producer(norm.input(0));
  if (producer == nullptr || !graph.sole_use(norm.input(0)) || producer->inputs.size() < 2) return std::nullopt;
  const Tensor* weights = graph.constant(producer->input(1));
  const Tensor* bias = graph.constant(producer->input(2));
  if (weights == nullptr || weights->type() != ElementType::kFloat || weights->size() == 0) return std::nullopt;
  if (producer->input(2).valid() && (bias == nullptr || bias->type() != ElementType::kFloat)) return std::nullopt;
  const std::optional<ChannelMap> channels = map_channels(*producer, *weights);
  const std::optional<Affine> affine = read_affine(graph, norm);
  if (!channels || !affine || static_cast<int64_t>(affine->factor.size()) != channels->channels) return std::nullopt;
  if (bias != nullptr && bias->size() != channels->channels) return std::nullopt;

  Tensor new_weights = *weights;
  auto data = new_weights.mutable_data<float>();
  for (int64_t i = 0; i < new_weights.size(); ++i) {
    auto& value = data[static_cast<size_t>(i)];
    value = static_cast<float>(value * affine->factor[static_cast<size_t>(channels->channel_of(i))]);
  }
  Tensor new_bias = Tensor::zeros(ElementType::kFloat, {channels->channels});
  auto shifted = new_bias.mutable_data<float>();
  for (size_t c = 0; c < affine->factor.size(); ++c) {
    const double old = bias == nullptr ? 0.0 : bias->data<float>()[c];
    shifted[c] = static_cast<float>(old * affine->factor[c] + affine->offset[c]);
  }
  if (!all_finite(new_weights) || !all_finite(new_bias)) return std::nullopt;

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
                    return fold_into(graph, node);
                  });
}

}  // namespace quarkq::rewrite
