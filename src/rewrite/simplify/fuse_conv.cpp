// SPDX-License-Identifier: MIT
// What follows a Conv or ConvTranspose goes into its weights and bias. All arithmetic is float32 in the order written,
// so that the constants agree bit for bit with the reference's.
#include <cmath>

#include "rewrite/simplify/patterns.h"

namespace quarkq::rewrite::simplify {
namespace {

using ir::Tensor;
using Floats = std::vector<float>;

/// A Conv or ConvTranspose with constant float weights and no bias or a constant one.
struct ConvParts {
  const ir::Node* node = nullptr;
  const Tensor* weights = nullptr;
  const Tensor* bias = nullptr;
  int64_t channels = 0;    ///< output channels
  int64_t inner = 1;       ///< weight elements per step of the channel dimension
  int64_t per_group = 0;   ///< channels per group of a ConvTranspose, else all
  int64_t group_size = 0;  ///< weight elements per such group
  size_t channel_of(int64_t index) const {
    return static_cast<size_t>(index / group_size * per_group + index / inner % per_group);
  }
};

std::optional<ConvParts> conv_behind(const Sweep& sweep, ir::ValueId value) {
  ConvParts conv;
  conv.node = sweep.sole_producer(value, "Conv");
  const bool transposed = conv.node == nullptr;
  if (transposed) conv.node = sweep.sole_producer(value, "ConvTranspose");
  if (conv.node == nullptr || conv.node->inputs.size() < 2) return std::nullopt;
  conv.weights = sweep.scope.constant(conv.node->input(1));
  conv.bias = sweep.scope.constant(conv.node->input(2));
  if (conv.weights == nullptr || conv.weights->type() != ElementType::kFloat || conv.weights->rank() < 3 ||
      conv.weights->size() == 0)
    return std::nullopt;
  if (conv.node->input(2).valid() && (conv.bias == nullptr || conv.bias->type() != ElementType::kFloat))
    return std::nullopt;
  const ir::Shape& dims = conv.weights->dims();
  const int64_t groups = transposed ? conv.node->int_or("group", 1) : 1;
  if (groups < 1 || dims[0] % groups != 0) return std::nullopt;
  conv.per_group = transposed ? dims[1] : dims[0];
  conv.channels = conv.per_group * groups;
  conv.group_size = conv.weights->size() / groups;
  conv.inner = conv.weights->size() / dims[0] / (transposed ? dims[1] : 1);
  if (conv.bias != nullptr && conv.bias->size() != conv.channels) return std::nullopt;
  return conv;
}

Tensor scaled_weights(const ConvParts& conv, const Floats& factors) {
  Tensor weights = *conv.weights;
  auto data = weights.mutable_data<float>();
  for (int64_t i = 0; i < weights.size(); ++i) data[static_cast<size_t>(i)] *= factors[conv.channel_of(i)];
  return weights;
}

Floats bias_of(const ConvParts& conv) {
  if (conv.bias == nullptr) return Floats(static_cast<size_t>(conv.channels), 0.0f);
  return Floats(conv.bias->data<float>().begin(), conv.bias->data<float>().end());
}

/// The Conv called like its old output, writing what the node behind it wrote.
Rewrite rewritten(const Sweep& sweep, const ConvParts& conv, const ir::Node& last, std::optional<Tensor> weights,
                  std::optional<Floats> bias) {
  Rewrite rewrite;
  const std::string& output = sweep.scope.name(last.output(0));
  ir::GraphPatch::PatchNode node{conv.node->op,    conv.node->domain,    sweep.scope.name(conv.node->output(0)), {},
                                 {last.output(0)}, conv.node->attributes};
  node.inputs = {conv.node->input(0), conv.node->input(1)};
  if (weights) node.inputs[1] = rewrite.patch.initializer(output + "_weight", std::move(*weights));
  if (bias)
    node.inputs.push_back(rewrite.patch.initializer(output + "_bias", Tensor::from<float>({conv.channels}, *bias)));
  rewrite.patch.remove(conv.node->id);
  rewrite.patch.remove(last.id);
  rewrite.patch.node(std::move(node));
  return rewrite;
}

/// The elements of an operand that has one value per output channel and nothing along the other axes.
std::optional<Floats> per_channel(const Sweep& sweep, const ConvParts& conv, ir::ValueId operand) {
  const Tensor* tensor = sweep.float_constant(operand);
  if (tensor == nullptr || conv.channels < 2 || tensor->size() != conv.channels) return std::nullopt;
  const int64_t missing = conv.weights->rank() - tensor->rank();  // leading dimensions that broadcasting adds
  if (missing < 0 || missing > 1 || tensor->dims()[static_cast<size_t>(1 - missing)] != conv.channels)
    return std::nullopt;
  return Floats(tensor->data<float>().begin(), tensor->data<float>().end());
}

}  // namespace

std::optional<Rewrite> fuse_conv_add(const Sweep& sweep, const ir::Node& add) {
  const std::optional<ConvParts> conv = conv_behind(sweep, add.input(0));
  if (!conv) return std::nullopt;
  const std::optional<Floats> addend = per_channel(sweep, *conv, add.input(1));
  if (!addend) return std::nullopt;
  Floats bias = bias_of(*conv);
  for (size_t c = 0; c < bias.size(); ++c) bias[c] = conv->bias == nullptr ? (*addend)[c] : bias[c] + (*addend)[c];
  return rewritten(sweep, *conv, add, std::nullopt, std::move(bias));
}

std::optional<Rewrite> fuse_conv_mul(const Sweep& sweep, const ir::Node& mul) {
  const std::optional<ConvParts> conv = conv_behind(sweep, mul.input(0));
  if (!conv) return std::nullopt;
  const std::optional<Floats> factors = per_channel(sweep, *conv, mul.input(1));
  if (!factors) return std::nullopt;
  std::optional<Floats> bias;
  if (conv->bias != nullptr) {
    bias = bias_of(*conv);
    for (size_t c = 0; c < bias->size(); ++c) (*bias)[c] *= (*factors)[c];
  }
  return rewritten(sweep, *conv, mul, scaled_weights(*conv, *factors), std::move(bias));
}

/// k = gamma / sqrt(variance + epsilon); weights * k, (bias - mean) * k + beta.
std::optional<Rewrite> fuse_conv_batch_norm(const Sweep& sweep, const ir::Node& norm) {
  const std::optional<ConvParts> conv = conv_behind(sweep, norm.input(0));
  if (!conv || norm.outputs.size() != 1 || norm.int_or("training_mode", 0) != 0) return std::nullopt;
  const Tensor* params[4];
  for (size_t i = 0; i < 4; ++i) {
    params[i] = sweep.float_constant(norm.input(i + 1));
    if (params[i] == nullptr || params[i]->size() != conv->channels) return std::nullopt;
  }
  const float epsilon = norm.float_or("epsilon", 1e-5f);
  Floats factors, bias = bias_of(*conv);
  for (size_t c = 0; c < bias.size(); ++c) {
    factors.push_back(params[0]->data<float>()[c] / std::sqrt(params[3]->data<float>()[c] + epsilon));
    if (!std::isfinite(factors[c])) return std::nullopt;
    bias[c] = (bias[c] - params[2]->data<float>()[c]) * factors[c] + params[1]->data<float>()[c];
  }
  return rewritten(sweep, *conv, norm, scaled_weights(*conv, factors), std::move(bias));
}

}  // namespace quarkq::rewrite::simplify
