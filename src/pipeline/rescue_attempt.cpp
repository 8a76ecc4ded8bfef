// SPDX-License-Identifier: MIT
#include "pipeline/rescue_attempt.h"

#include "pipeline/pass_runner.h"
#include "plan/data_types.h"

namespace quarkq::pipeline {

config::DataType wide_type(const config::Settings& settings) {
  return settings.formats.activation_type == config::DataType::kUInt8 ? config::DataType::kUInt16
                                                                      : config::DataType::kInt16;
}

std::set<ir::ValueId> widened_tensors(const Remedies& remedies, const plan::Selection& selection,
                                      const ir::Graph& graph) {
  std::set<ir::ValueId> found;
  const auto take = [&](ir::ValueId value) {
    if (value.valid() && graph.constant(value) == nullptr && graph.value(value).type.element == ElementType::kFloat &&
        plan::find_override(selection.overrides, value) == nullptr)
      found.insert(value);
  };
  for (const ir::NodeId id : remedies.in_16_bits) {
    for (const ir::ValueId value : graph.node(id).inputs) take(value);
    for (const ir::ValueId value : graph.node(id).outputs) take(value);
  }
  return found;
}

void apply(const Remedies& remedies, const ir::Graph& graph, config::Settings& settings, plan::Selection& selection) {
  if (!remedies.rounding.empty()) settings.tool.rounding = remedies.rounding;
  if (remedies.channel_scales) settings.formats.per_channel = true;
  for (const ir::ValueId value : widened_tensors(remedies, selection, graph))
    selection.overrides[value].type = wide_type(settings);
  selection.left_float.insert(remedies.left_float.begin(), remedies.left_float.end());
}

Attempt::Attempt(const RunState& from, const Diagnostics& before, const Remedies& remedies)
    : model(*from.calibrated),
      settings(from.settings),
      diagnostics(before),
      state{.model = model,
            .settings = settings,
            .diagnostics = diagnostics,
            .selection = from.selection,
            .source = from.source,
            .channels_last_inputs = from.channels_last_inputs,
            .measured = from.measured,
            .tuning = {.rounded = from.tuning.rounded}} {
  apply(remedies, model.graph, settings, state.selection);
}

Status Attempt::plan(pass::Phase until) {
  std::vector<PassTime> times;
  return run_passes(state, {.from = pass::Phase::kMark, .until = until}, times, {});
}

}  // namespace quarkq::pipeline
