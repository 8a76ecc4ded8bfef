// SPDX-License-Identifier: MIT
#include "planning/mark/annotated.h"

#include <cmath>

namespace quarkq::planning {
namespace {

bool near(const ir::Tensor* tensor, double wanted) {
  if (tensor == nullptr || tensor->size() != 1) return false;
  const Result<std::vector<double>> value = ir::to_double(*tensor);
  return value.ok() && std::abs(value.value()[0] - wanted) < 1e-6;
}

}  // namespace

OpTypes annotated_producers(const config::Settings& settings) {
  OpTypes types = {"Conv", "Add", "MaxPool", "AveragePool", "GlobalAveragePool", "MatMul", "Gemm", "ConvTranspose"};
  if (settings.qdq.remove_qdq_instance_norm) types.insert("InstanceNormalization");
  return types;
}

OpTypes removable_activations(const config::Settings& settings) {
  OpTypes types;
  if (settings.qdq.remove_qdq_conv_clip) types.insert("Clip");
  if (settings.qdq.remove_qdq_conv_relu) types.insert("Relu");
  if (settings.qdq.remove_qdq_conv_leaky_relu) types.insert("LeakyRelu");
  if (settings.qdq.remove_qdq_conv_prelu) types.insert("PRelu");
  if (settings.qdq.remove_qdq_conv_gelu) types.insert("Gelu");
  return types;
}

bool is_npu_clip(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Clip")) return true;
  const ir::Tensor *low = graph.constant(node.input(1)), *high = graph.constant(node.input(2));
  return near(low, 0) && (near(high, 6) || near(high, 1));
}

}  // namespace quarkq::planning
