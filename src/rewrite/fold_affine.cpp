// SPDX-License-Identifier: MIT
#include "rewrite/fold_affine.h"

#include <algorithm>
#include <cmath>

#include "ir/constants.h"

namespace quarkq::rewrite {
namespace {

/// The standard's default is 1e-5; the reference uses 1e-10.
float default_epsilon(const config::Settings& settings) {
  return settings.quirk(config::Quirk::kDefaultBatchNormEpsilon) ? 1e-5f : 1e-10f;
}

/// Every step is rounded to Real.
template <typename Real>
std::optional<ChannelAffine> affine_in(const NormTensors& params, float epsilon, FoldArithmetic arithmetic) {
  std::vector<float> values[4];
  for (size_t i = 0; i < 4; ++i) values[i] = ir::float_values(*params[i]).value();
  ChannelAffine affine{{}, {}, {}, arithmetic};
  for (size_t c = 0; c < values[0].size(); ++c) {
    const Real gamma = values[0][c], beta = values[1][c], mean = values[2][c], variance = values[3][c];
    const Real factor = gamma / std::sqrt(variance + static_cast<Real>(epsilon));
    if (!std::isfinite(factor)) return std::nullopt;
    affine.factor.push_back(factor);
    if (arithmetic == FoldArithmetic::kMeanFirst) {
      affine.mean.push_back(mean);
      affine.offset.push_back(beta);
      continue;
    }
    const Real offset = beta - mean * factor;
    if (!std::isfinite(offset)) return std::nullopt;
    affine.offset.push_back(offset);
  }
  return affine;
}

float folded(float bias, const ChannelAffine& affine, size_t c) {
  if (affine.arithmetic == FoldArithmetic::kDouble) {
    return static_cast<float>(bias * affine.factor[c] + affine.offset[c]);
  }
  const auto factor = static_cast<float>(affine.factor[c]);
  const float centered = affine.mean.empty() ? bias : bias - static_cast<float>(affine.mean[c]);
  const float scaled = factor * centered;
  return affine.offset.empty() ? scaled : scaled + static_cast<float>(affine.offset[c]);
}

}  // namespace

ChannelAffine ChannelAffine::part(int64_t first, int64_t count) const {
  const auto cut = [&](const std::vector<double>& all) {
    return all.empty() ? all : std::vector<double>(all.begin() + first, all.begin() + first + count);
  };
  return {cut(factor), cut(offset), cut(mean), arithmetic};
}

std::optional<ChannelAffine> norm_affine(const NormTensors& params, float epsilon, FoldArithmetic arithmetic) {
  return arithmetic == FoldArithmetic::kDouble ? affine_in<double>(params, epsilon, arithmetic)
                                               : affine_in<float>(params, epsilon, arithmetic);
}

std::optional<ChannelAffine> read_batch_norm(const ir::Graph& graph, const ir::Node& node,
                                             const config::Settings& settings) {
  if (!node.is("BatchNormalization") || node.inputs.size() != 5 || node.int_or("training_mode", 0) != 0)
    return std::nullopt;
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) return std::nullopt;
  }
  NormTensors params;
  for (size_t i = 0; i < params.size(); ++i) {
    params[i] = ir::stored_floats(graph, node.input(i + 1));
    if (params[i] == nullptr || params[i]->rank() != 1 || params[i]->size() != params[0]->size()) return std::nullopt;
  }
  return norm_affine(params, node.float_or("epsilon", default_epsilon(settings)), FoldArithmetic::kFloat);
}

ir::Tensor fold_into_weight(const ir::Tensor& weight, const ChannelView& view, const ChannelAffine& affine) {
  std::vector<float> values = ir::float_values(weight).value();
  // The product of two float32 numbers is exact in double: for them this is the float32 product.
  scale_channels<double>(values, view, affine.factor);
  return ir::store_floats(values, weight.type(), weight.dims());
}

std::vector<float> fold_into_bias(const ir::Tensor* bias, const ChannelAffine& affine) {
  const size_t channels = affine.factor.size();
  if (bias == nullptr && affine.arithmetic == FoldArithmetic::kFloat) {
    return affine.offset.empty() ? std::vector<float>(channels, 0.0f) : to_floats(affine.offset);
  }
  std::vector<float> values = bias == nullptr ? std::vector<float>(channels, 0.0f) : ir::float_values(*bias).value();
  for (size_t c = 0; c < channels; ++c) values[c] = folded(values[c], affine, c);
  return values;
}

std::optional<int64_t> foldable_channels(const ir::Graph& graph, const ir::Node& layer) {
  if (layer.is("Gemm") && (layer.float_or("alpha", 1) != 1 || layer.float_or("beta", 1) != 1)) return std::nullopt;
  if (layer.is("ConvTranspose") && layer.int_or("group", 1) != 1) return std::nullopt;
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

void LayerFolds::store(const ir::Node& layer, size_t input, ir::Tensor data) {
  const ir::ValueId old = layer.input(input);
  size_t& copied = copied_[old];
  if (graph_.use_count(old) - copied == 1) return patch_.set_constant(old, std::move(data));
  ++copied;
  patch_.set_input(layer.id, input, patch_.initializer(graph_.value(old).name, std::move(data)));
}

void LayerFolds::add(const ir::Node& layer, const ChannelAffine& affine) {
  const ir::Tensor& weight = *graph_.constant(layer.input(1));
  const ChannelView view = *written_channels(layer, weight.dims());
  store(layer, 1, fold_into_weight(weight, view, affine));
  const ir::Tensor* bias = layer.input(2).valid() ? graph_.constant(layer.input(2)) : nullptr;
  const std::vector<float> folded_bias = fold_into_bias(bias, affine);
  if (bias != nullptr) return store(layer, 2, ir::store_floats(folded_bias, bias->type(), bias->dims()));
  patch_.set_input(
      layer.id, 2,
      patch_.initializer(layer.name + "_bias_4bn", ir::store_floats(folded_bias, weight.type(), {view.channels})));
}

}  // namespace quarkq::rewrite
