// SPDX-License-Identifier: MIT
#include "planning/tune/layer_constants.h"

#include <algorithm>

#include "exec/compile.h"
#include "ir/edit.h"
#include "plan/constant_codes.h"

namespace quarkq::planning::finetune {

Result<ConstantChain> ConstantChain::to(const ir::Model& model, ir::ValueId value) {
  ConstantChain chain;
  chain.model_ = &model;
  const ir::Graph& graph = model.graph;
  while (graph.constant(value) == nullptr) {
    const ir::Node* producer = graph.producer(value);
    if (producer == nullptr || producer->outputs.size() != 1 || !producer->input(0).valid())
      return unsupported("a constant of it is computed");
    for (size_t i = 1; i < producer->inputs.size(); ++i) {
      if (producer->inputs[i].valid() && graph.constant(producer->inputs[i]) == nullptr)
        return unsupported("a constant of it is computed");
    }
    chain.nodes_.push_back(producer->id);
    value = producer->input(0);
  }
  chain.stored_ = value;
  std::reverse(chain.nodes_.begin(), chain.nodes_.end());
  return chain;
}

Result<ir::Tensor> ConstantChain::run(const ir::Tensor& start) const {
  ir::Tensor tensor = start;
  for (const ir::NodeId id : nodes_) {
    const ir::Node& node = model_->graph.node(id);
    std::vector<const ir::Tensor*> inputs = {&tensor};
    for (size_t i = 1; i < node.inputs.size(); ++i)
      inputs.push_back(node.inputs[i].valid() ? model_->graph.constant(node.inputs[i]) : nullptr);
    QQ_TRY(std::vector<ir::Tensor> made, exec::evaluate_node(model_->graph, model_->opsets, id, inputs));
    if (made.empty()) return unsupported(model_->graph.label(id), ": is not computed");
    tensor = std::move(made[0]);
  }
  return tensor;
}

Status store_constant(ir::Model& model, ir::ValueId read, const ir::Tensor& tensor) {
  QQ_TRY(const ConstantChain chain, ConstantChain::to(model, read));
  ir::GraphEdit(model.graph).set_constant(chain.stored(), tensor);
  return Status();
}

namespace {

/// Returns nullopt if the scales do not fit.
std::optional<Grid> grid_for(const plan::QuantPlan& plan, const plan::Stage& stage, const ir::Tensor& constant,
                             const numeric::IntegerRange& limits) {
  Grid grid{numeric::split_channels(constant.dims(), stage.spec), plan.params[stage.params], limits};
  const auto scales = static_cast<int64_t>(grid.params.size());
  if (scales > 1 && scales != grid.split.channels)
    grid.split = {1, constant.size(), 1};  // a bias has the scales of its layer
  if (scales == 0 || (scales > 1 && scales != grid.split.channels)) return {};
  return grid;
}

}  // namespace

bool is_stored_integer(const plan::QuantSlot& slot) {
  return slot.stage.kind == plan::StageKind::kStored && is_integer(slot.stage.spec.type) && slot.codes;
}

std::optional<Grid> stored_grid(const plan::QuantPlan& plan, const config::Settings& settings, ir::ValueId value) {
  const plan::QuantSlot* slot = plan.find(value);
  if (slot == nullptr || !is_stored_integer(*slot)) return {};
  return grid_for(plan, slot->stage, *slot->codes, plan::stored_limits(settings, *slot));
}

std::optional<Grid> pair_grid(const plan::QuantPlan& plan, const ir::Tensor& stored, ir::ValueId value) {
  const plan::QuantSlot* slot = plan.find(value);
  const bool is_pair = slot != nullptr && slot->stage.kind == plan::StageKind::kPair &&
                       slot->role != plan::Role::kActivation && is_integer(slot->stage.spec.type) &&
                       slot->state == plan::SlotState::kCalibrated;
  if (!is_pair || stored.type() != ElementType::kFloat) return {};
  return grid_for(plan, slot->stage, stored, numeric::integer_range(slot->stage.spec.type, numeric::RangeKind::kFull));
}

}  // namespace quarkq::planning::finetune
