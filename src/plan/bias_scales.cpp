// SPDX-License-Identifier: MIT
#include "plan/bias_scales.h"

#include <algorithm>

namespace quarkq::plan {
namespace {

/// The axis of the weight that the output channels run along. Returns nullopt for operators without such an axis.
std::optional<int64_t> output_axis(const ir::Node& node) {
  if (node.op == "Conv" || node.op == "InstanceNormalization") return 0;
  if (node.op == "ConvTranspose") return 1;
  if (node.op == "Gemm") return node.int_or("transB", 0) != 0 ? 0 : 1;
  return std::nullopt;
}

}  // namespace

int64_t bias_axis(const ir::Shape& bias) {
  const auto longest = std::ranges::find_if(bias, [](int64_t size) { return size != 1; });
  if (longest != bias.end()) return longest - bias.begin();
  return std::max<int64_t>(static_cast<int64_t>(bias.size()) - 1, 0);
}

bool fits_bias(const ir::Node& node, int64_t axis, int64_t scales, const ir::Shape& bias) {
  if (scales == 1) return true;
  if (output_axis(node) != axis || bias.empty()) return false;
  const int64_t groups = node.op == "ConvTranspose" ? node.int_or("group", 1) : 1;
  const int64_t count = bias[static_cast<size_t>(bias_axis(bias))];
  // Rows of a Gemm's bias run along the other axis of the product.
  const bool runs_along_channels = bias_axis(bias) + 1 == static_cast<int64_t>(bias.size());
  return runs_along_channels && count == ir::checked_count(bias) && count == scales * groups;
}

std::vector<float> bias_scales(float input, std::span<const float> weight, float beta, size_t count) {
  std::vector<float> scales(weight.size() == 1 ? 1 : count);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = input * weight[i % weight.size()] * beta;
  return scales;
}

ParamList bias_params(const ParamList& input, const ParamList& weight, float beta, size_t count) {
  std::vector<float> own;
  for (const numeric::QuantParams& one : weight) own.push_back(one.scale);
  ParamList params;
  for (const float scale : bias_scales(input[0].scale, own, beta, count)) params.push_back({scale, 0});
  return params;
}

bool has_fitting_weight(const ir::Graph& graph, const QuantPlan& plan, const QuantSlot& bias) {
  const QuantSlot& weight = plan.slot(bias.bias->weight);
  const auto& stored = graph.value(weight.value).constant;
  if (!weight.stage.spec.per_channel || !stored) return true;
  const int64_t axis = weight.stage.spec.axis;
  const int64_t scales = stored->dims()[static_cast<size_t>(axis)];
  return fits_bias(graph.node(bias.bias->node), axis, scales, graph.value(bias.value).constant->dims());
}

}  // namespace quarkq::plan
