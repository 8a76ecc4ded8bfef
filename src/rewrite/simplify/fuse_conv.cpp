// SPDX-License-Identifier: MIT
// Folds what follows a Conv or ConvTranspose into its weights and bias: the constants agree bit for bit with the
// reference's.
#include "rewrite/fold_affine.h"
#include "rewrite/pads.h"
#include "rewrite/simplify/patterns.h"

namespace quarkq::rewrite::simplify {

namespace {

using ir::Tensor;

/// A Conv or ConvTranspose with constant float weights and no bias or a constant one.
struct ConvParts {
  const ir::Node* node = nullptr;
  const Tensor* weights = nullptr;
  const Tensor* bias = nullptr;
  ChannelView view;  ///< View of the weights.
};

std::optional<ConvParts> conv_that_makes(const Sweep& sweep, ir::ValueId value) {
  ConvParts conv;
  conv.node = sweep.sole_producer(value, "Conv");
  if (conv.node == nullptr) conv.node = sweep.sole_producer(value, "ConvTranspose");
  if (conv.node == nullptr || conv.node->inputs.size() < 2) return std::nullopt;
  conv.weights = sweep.scope.constant(conv.node->input(1));
  conv.bias = sweep.scope.constant(conv.node->input(2));
  if (conv.weights == nullptr || conv.weights->type() != ElementType::kFloat || conv.weights->rank() < 3 ||
      conv.weights->size() == 0)
    return std::nullopt;
  if (conv.node->input(2).valid() && (conv.bias == nullptr || conv.bias->type() != ElementType::kFloat))
    return std::nullopt;
  const std::optional<ChannelView> view = written_channels(*conv.node, conv.weights->dims());
  if (!view || (conv.bias != nullptr && conv.bias->size() != view->channels)) return std::nullopt;
  conv.view = *view;
  return conv;
}

/// The Conv called like its old output, writing what the node after it wrote.
Rewrite rewritten(const Sweep& sweep, const ConvParts& conv, const ir::Node& last, std::optional<Tensor> weights,
                  std::optional<std::vector<float>> bias) {
  Rewrite rewrite;
  const std::string& output = sweep.scope.name(last.output(0));
  ir::GraphPatch::PatchNode node{conv.node->op,    conv.node->domain,    sweep.scope.name(conv.node->output(0)), {},
                                 {last.output(0)}, conv.node->attributes};
  node.inputs = {conv.node->input(0), conv.node->input(1)};
  if (weights) node.inputs[1] = rewrite.patch.initializer(output + "_weight", std::move(*weights));
  if (bias)
    node.inputs.push_back(
        rewrite.patch.initializer(output + "_bias", Tensor::from<float>({conv.view.channels}, *bias)));
  rewrite.patch.remove(conv.node->id);
  rewrite.patch.remove(last.id);
  rewrite.patch.node(std::move(node));
  return rewrite;
}

/// The elements of an operand that has one value per output channel and nothing along the other axes.
std::optional<std::vector<double>> per_channel_operand(const Sweep& sweep, const ConvParts& conv, ir::ValueId operand) {
  const Tensor* tensor = sweep.float_constant(operand);
  if (tensor == nullptr || conv.view.channels < 2 || tensor->size() != conv.view.channels) return std::nullopt;
  const int64_t missing = conv.weights->rank() - tensor->rank();  // leading dimensions that broadcasting adds
  if (missing < 0 || missing > 1 || tensor->dims()[static_cast<size_t>(1 - missing)] != conv.view.channels)
    return std::nullopt;
  return std::vector<double>(tensor->data<float>().begin(), tensor->data<float>().end());
}

}  // namespace

std::optional<Rewrite> fuse_conv_add(const Sweep& sweep, const ir::Node& add) {
  const std::optional<ConvParts> conv = conv_that_makes(sweep, add.input(0));
  if (!conv) return std::nullopt;
  const auto addends = per_channel_operand(sweep, *conv, add.input(1));
  if (!addends) return std::nullopt;
  const ChannelAffine affine{std::vector<double>(addends->size(), 1.0), *addends};
  return rewritten(sweep, *conv, add, std::nullopt, fold_into_bias(conv->bias, affine));
}

std::optional<Rewrite> fuse_conv_mul(const Sweep& sweep, const ir::Node& mul) {
  const std::optional<ConvParts> conv = conv_that_makes(sweep, mul.input(0));
  if (!conv) return std::nullopt;
  const auto factors = per_channel_operand(sweep, *conv, mul.input(1));
  if (!factors) return std::nullopt;
  const ChannelAffine affine{*factors};
  std::optional<std::vector<float>> bias;
  if (conv->bias != nullptr) bias = fold_into_bias(conv->bias, affine);
  return rewritten(sweep, *conv, mul, fold_into_weight(*conv->weights, conv->view, affine), std::move(bias));
}

std::optional<Rewrite> fuse_conv_batch_norm(const Sweep& sweep, const ir::Node& norm) {
  const std::optional<ConvParts> conv = conv_that_makes(sweep, norm.input(0));
  if (!conv || norm.outputs.size() != 1 || norm.int_or("training_mode", 0) != 0) return std::nullopt;
  NormTensors params;
  for (size_t i = 0; i < params.size(); ++i) {
    params[i] = sweep.float_constant(norm.input(i + 1));
    if (params[i] == nullptr || params[i]->size() != conv->view.channels) return std::nullopt;
  }
  const auto affine = norm_affine(params, norm.float_or("epsilon", 1e-5f), FoldArithmetic::kMeanFirst);
  if (!affine) return std::nullopt;
  return rewritten(sweep, *conv, norm, fold_into_weight(*conv->weights, conv->view, *affine),
                   fold_into_bias(conv->bias, *affine));
}

// Folds a zero Pad of the spatial dimensions into the pads of the Conv that is its only reader.

std::optional<Rewrite> fuse_pad_conv(const Sweep& sweep, const ir::Node& conv) {
  const ir::Node* pad = sweep.sole_producer(conv.input(0), "Pad");
  if (pad == nullptr || !pad->input(1).valid()) return std::nullopt;  // before opset 11, as an attribute, it is kept
  const std::optional<SpatialPad> amounts =
      read_spatial_pad(*pad, [&](ir::ValueId value) { return sweep.scope.constant(value); });
  if (!amounts || amounts->value != 0) return std::nullopt;
  std::optional<ir::GraphPatch> patch = merge_pads(conv, *pad, *amounts, sweep.scope.name(conv.output(0)));
  if (!patch) return std::nullopt;
  Rewrite rewrite;
  rewrite.patch = std::move(*patch);
  return rewrite;
}

}  // namespace quarkq::rewrite::simplify
