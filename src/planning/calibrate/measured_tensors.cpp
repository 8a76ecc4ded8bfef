// SPDX-License-Identifier: MIT
#include "planning/calibrate/measured_tensors.h"

#include <algorithm>
#include <set>

namespace quarkq::planning {
namespace {

bool is_calibrated(const ir::Graph& graph, ir::ValueId id) {
  if (!id.valid() || graph.value(id).is_initializer()) return false;
  const ElementType type = graph.value(id).type.element;
  return type == ElementType::kFloat || type == ElementType::kFloat16;
}

}  // namespace

std::vector<plan::QuantSlot*> slots_to_measure(plan::QuantPlan& plan) {
  std::set<ir::ValueId> providers;
  for (const plan::QuantSlot& slot : plan.slots()) {
    if (plan.shares(slot)) providers.insert(slot.provider);
  }
  std::vector<plan::QuantSlot*> slots;
  for (plan::QuantSlot& slot : plan.slots()) {
    const bool provides = providers.contains(slot.value);
    const bool needs_range = slot.stage.spec.needs_range() || slot.always_measured;
    if (slot.role != plan::Role::kActivation || plan.shares(slot) || !needs_range) continue;
    if (slot.state != plan::SlotState::kAbsorbed || provides) slots.push_back(&slot);
  }
  return slots;
}

std::vector<ir::ValueId> calibrated_tensors(const pass::PlanContext& context) {
  const ir::Graph& graph = context.model.graph;
  std::set<ir::ValueId> tensors;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!context.selection.op_types.contains(node.op)) continue;
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const ir::ValueId value : *values) {
        if (is_calibrated(graph, value)) tensors.insert(value);
      }
    }
  }
  return {tensors.begin(), tensors.end()};
}

std::vector<ir::ValueId> tensors_to_measure(const pass::PlanContext& context, const RangeSources& sources) {
  const config::Settings& settings = context.settings;
  std::set<ir::ValueId> tensors;
  for (const plan::QuantSlot* slot : slots_to_measure(context.plan)) {
    const auto index = static_cast<size_t>(slot->value.index);
    if (!sources.unit[index]) tensors.insert(sources.source[index]);
  }
  if (!tensors.empty() && (!settings.quirk(config::Quirk::kMeasureNeededOnly) || settings.ranges.save_and_restore ||
                           settings.ranges.save_tensor_hist_fig)) {
    const std::vector<ir::ValueId> all = calibrated_tensors(context);
    tensors.insert(all.begin(), all.end());
  }
  return {tensors.begin(), tensors.end()};
}

}  // namespace quarkq::planning
