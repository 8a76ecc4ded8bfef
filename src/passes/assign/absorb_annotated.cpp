// SPDX-License-Identifier: MIT
// Values between a Conv-like producer and the activation behind it get no Q/DQ of their own: NPUs compute both at once
// (spec 02 A.8). Decided on the float graph, before anything is marked; the slots stay in the plan, absorbed.
#include <cmath>
#include <set>
#include <string>

#include "passes/passes.h"

namespace quarkq::passes {
namespace {

std::set<std::string, std::less<>> producer_types(const config::Settings& settings) {
  std::set<std::string, std::less<>> types = {"Conv",   "Add",  "MaxPool",      "AveragePool", "GlobalAveragePool",
                                              "MatMul", "Gemm", "ConvTranspose"};
  if (settings.remove_qdq_instance_norm) types.insert("InstanceNormalization");
  return types;
}

std::set<std::string, std::less<>> activation_types(const config::Settings& settings) {
  std::set<std::string, std::less<>> types;
  if (settings.remove_qdq_conv_clip) types.insert("Clip");
  if (settings.remove_qdq_conv_relu) types.insert("Relu");
  if (settings.remove_qdq_conv_leaky_relu) types.insert("LeakyRelu");
  if (settings.remove_qdq_conv_prelu) types.insert("PRelu");
  if (settings.remove_qdq_conv_gelu) types.insert("Gelu");
  return types;
}

bool near(const ir::Tensor* tensor, double wanted) {
  if (tensor == nullptr || tensor->size() != 1) return false;
  const Result<std::vector<double>> value = ir::to_double(*tensor);
  return value.ok() && std::abs(value.value()[0] - wanted) < 1e-6;
}

/// Limits must be initializers and exactly 0..6 or 0..1; limits held in attributes (opset < 11) do not count.
bool is_npu_clip(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Clip")) return true;
  const ir::Tensor *low = graph.constant(node.input(1)), *high = graph.constant(node.input(2));
  return near(low, 0) && (near(high, 6) || near(high, 1));
}

}  // namespace

Result<Changed> absorb_annotated(PassContext& context) {
  const ir::Graph& graph = context.graph();
  const auto producers = producer_types(context.settings), activations = activation_types(context.settings);
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    const ir::ValueId value = node.output(0);
    if (!value.valid() || graph.value(value).uses.size() != 1) continue;
    const ir::Use use = graph.value(value).uses[0];
    if (use.is_capture || use.input != 0) continue;
    const ir::Node& reader = graph.node(use.node);
    const bool activation =
        producers.contains(node.op) && activations.contains(reader.op) && is_npu_clip(graph, reader);
    const bool padded_pool = node.is("Pad") && (reader.is("AveragePool") || reader.is("GlobalAveragePool"));
    // A graph output keeps its pair: the reference renames it before it looks for annotated names.
    if ((activation || padded_pool) && !graph.value(value).is_output) context.absorbed.push_back(value);
  }
  return Changed::kNo;
}

}  // namespace quarkq::passes
