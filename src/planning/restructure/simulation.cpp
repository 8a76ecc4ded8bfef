// SPDX-License-Identifier: MIT
#include "planning/restructure/simulation.h"

#include <algorithm>

#include "numeric/half.h"
#include "plan/lowering/qdq_names.h"

namespace quarkq::planning {
namespace {

bool has_own_pairs(const plan::QuantPlan& plan, ir::ValueId value) {
  const auto place = static_cast<size_t>(value.index);
  return plan.dedicated_pairs && place < plan.dedicated_uses.size() && plan.dedicated_uses[place].size() >= 2;
}

bool has_pair(const plan::QuantPlan& plan, ir::ValueId value) {
  const plan::QuantSlot* slot = plan.find(value);
  return slot != nullptr && slot->state != plan::SlotState::kAbsorbed;
}

ir::Tensor scalar(float value, ElementType type) {
  if (type != ElementType::kFloat16) return ir::Tensor::scalar<float>(value);
  ir::Tensor half = ir::Tensor::allocate(ElementType::kFloat16, {});
  half.mutable_data<uint16_t>()[0] = float16_from_float(value);
  return half;
}

/// The reference looks shapes up through a standard DQ, and only among inner values (ref:npu#pools).
bool finds_shape(const pass::RestructureContext& context, ir::ValueId value) {
  if (context.settings.quirk(config::Quirk::kSimulateAnyShape)) return true;
  const ir::Value& found = context.model.graph.value(value);
  if (found.is_input || found.is_output) return false;
  return context.settings.traits().finds_shapes_through_pairs || !has_pair(context.plan, value);
}

}  // namespace

std::string Simulation::written_name(ir::ValueId value) const {
  const ir::Value& named = graph().value(value);
  const bool is_renamed = named.is_output && has_pair(context_.plan, value) && !has_own_pairs(context_.plan, value);
  return is_renamed ? plan::QdqNames(named.name).quantize_input : named.name;
}

void Simulation::rescale(ir::NodeId id, float factor) {
  const ir::Node node = graph().node(id);
  const ir::ValueId output = node.outputs[0];
  const std::string name = written_name(output);
  const ir::ValueType type = graph().value(output).type;
  const ir::ValueId unscaled = edit_.add_value(name + "_Mul", type);
  if (node.name.empty()) edit_.node(id).name = name;
  edit_.set_output(id, 0, unscaled);
  ir::ValueType scalar_type;
  scalar_type.element = type.element == ElementType::kFloat16 ? ElementType::kFloat16 : ElementType::kFloat;
  scalar_type.has_shape = true;
  const ir::ValueId scale = edit_.add_value(name + "_Scale", scalar_type);
  edit_.add_node({.op = "Constant",
                  .domain = "",
                  .name = "",
                  .inputs = {},
                  .outputs = {scale},
                  .attributes = {{"value", scalar(factor, scalar_type.element), {}, {}}},
                  .origins = node.origins});
  edit_.add_node({.op = "Mul",
                  .domain = "",
                  .name = name + "_Mul",
                  .inputs = {unscaled, scale},
                  .outputs = {output},
                  .attributes = {},
                  .origins = node.origins});
  changed = true;
}

void Simulation::move_to_end(ir::NodeId id) {
  std::vector<ir::NodeId> order = graph().order();
  std::erase(order, id);
  order.push_back(id);
  edit_.set_order(std::move(order));
}

void Simulation::hand_over_read(ir::ValueId value, ir::NodeId from, ir::NodeId to) {
  const auto place = static_cast<size_t>(value.index);
  if (place >= context_.plan.dedicated_uses.size()) return;
  for (ir::Use& use : context_.plan.dedicated_uses[place]) {
    if (use.node == from) use.node = to;
  }
}

std::optional<std::vector<int64_t>> Simulation::sizes(ir::ValueId value) const {
  if (!value.valid() || !finds_shape(context_, value)) return {};
  const ir::ValueType& type = graph().value(value).type;
  if (!type.has_shape) return {};
  std::vector<int64_t> sizes;
  for (const ir::Dim& dim : type.dims) sizes.push_back(dim.size);
  return sizes;
}

void Simulation::leave(const ir::Node& node, const std::string& why) {
  context_.diagnostics.add("dpu-conversion-left-out", graph().label(node.id), why + "; it is kept as it is");
}

}  // namespace quarkq::planning
