// SPDX-License-Identifier: MIT
#include "planning/calibrate/bias_limit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quarkq::planning {
namespace {

/// Returns the range of the result, or of the Relu or Clip that is its only reader and shares its Q/DQ pair.
std::optional<numeric::Range> result_range(const pass::PlanContext& context, ir::ValueId result) {
  const ir::Graph& graph = context.graph();
  const plan::QuantSlot* slot = context.plan.find(result);
  if (slot != nullptr && slot->range && slot->state != plan::SlotState::kAbsorbed) return slot->range;
  if (graph.value(result).uses.size() != 1 || graph.value(result).is_output) return std::nullopt;
  const ir::Node& reader = graph.node(graph.value(result).uses[0].node);
  if (!reader.is("Relu") && !reader.is("Clip")) return std::nullopt;
  const plan::QuantSlot* after = context.plan.find(reader.output(0));
  return after == nullptr ? std::nullopt : after->range;
}

bool has_8_bits(const pass::PlanContext& context, ir::ValueId value) {
  const plan::QuantSlot* slot = context.plan.find(value);
  return slot != nullptr && is_integer(slot->stage.spec.type) && bits(slot->stage.spec.type) <= 8;
}

}  // namespace

double bias_limit(const pass::PlanContext& context, const plan::QuantSlot& bias) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  if (!has_8_bits(context, bias.bias->input) || !has_8_bits(context, bias.bias->weight)) return kUnknown;
  const auto range = result_range(context, context.graph().node(bias.bias->node).output(0));
  if (!range) return kUnknown;
  return 2.0 * std::max(std::abs(static_cast<double>(range->min)), std::abs(static_cast<double>(range->max)));
}

}  // namespace quarkq::planning
