// SPDX-License-Identifier: MIT
#include "planning/mark/annotated.h"

#include <cmath>

#include "planning/passes.h"

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

// Values between a Conv-like producer and the activation after it get no Q/DQ of their own: NPUs compute both at once
// (ref:marking#fused-activations). The slots stay in the plan, absorbed.

namespace {

/// A block format keeps its node inside a fused pair unless RemoveFusedQDQ is set.
bool absorb(const config::Settings& settings, plan::QuantSlot* slot) {
  if (slot == nullptr || slot->role != plan::Role::kActivation) return false;
  if (slot->stage.kind == plan::StageKind::kBlock && !settings.qdq.remove_fused_qdq) return false;
  slot->state = plan::SlotState::kAbsorbed;
  return true;
}

}  // namespace

Result<Changed> absorb_annotated(pass::PlanContext& context) {
  const ir::Graph& graph = context.graph();
  const auto producers = annotated_producers(context.settings);
  const auto activations = removable_activations(context.settings);
  Changed changed = Changed::kNo;
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
    if ((!activation && !padded_pool) || graph.value(value).is_output) continue;
    if (!absorb(context.settings, context.plan.find(value))) continue;
    context.plan.decisions.push_back({value, plan::DecisionKind::kAbsorbed, id});
    changed = Changed::kYes;
  }
  return changed;
}

}  // namespace quarkq::planning
