// SPDX-License-Identifier: MIT
#include "pipeline/part_plans.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/simulate.h"
#include "pipeline/pass_runner.h"

namespace quarkq::pipeline {

Result<Agreement> worst_agreement(const std::vector<OutputAgreement>& outputs) {
  if (outputs.empty()) return unsupported("no floating-point output of the same shape to compare");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Agreement worst{1, kInfinity};
  const auto take = [&](double cosine, double sqnr_db) {
    worst.cosine = std::min(worst.cosine, std::isnan(cosine) ? -1 : cosine);
    worst.sqnr_db = std::min(worst.sqnr_db, std::isnan(sqnr_db) ? -kInfinity : sqnr_db);
  };
  for (const OutputAgreement& output : outputs) {
    if (output.near_zero) continue;  // its cosine is meaningless
    if (output.different_not_finite > 0) {
      take(-1, -kInfinity);  // NaN where the float model has none is worse than any noise
      continue;
    }
    take(output.cosine, output.sqnr_db);
    if (output.minor) take(output.minor->cosine, output.minor->sqnr_db);
    worst.same_choices = std::min(worst.same_choices, output.same_choices.value_or(1));
  }
  return worst;
}

std::vector<std::string> loaded_names(const ir::Graph& loaded, const ir::Node& node) {
  std::vector<std::string> names;
  for (const ir::NodeId origin : node.origins) {
    if (!loaded.node(origin).name.empty()) names.push_back(loaded.node(origin).name);
  }
  return names;
}

Result<Agreement> run_plan(const RunState& state, const ExpectedOutputs& expected) {
  QQ_TRY(const ir::Model simulated, exec::simulate(state.model, state.plan));
  QQ_TRY(const std::vector<OutputAgreement> outputs, expected.compare(simulated, state.diagnostics));
  return worst_agreement(outputs);
}

std::vector<ir::NodeId> PartPlans::candidates() const {
  std::vector<ir::NodeId> found;
  const auto has = [&](ir::ValueId value) { return value.valid() && state_.plan.has(value); };
  for (const ir::NodeId id : state_.graph().order()) {
    const ir::Node& node = state_.graph().node(id);
    if (state_.selection.selects(node) && (std::any_of(node.inputs.begin(), node.inputs.end(), has) ||
                                           std::any_of(node.outputs.begin(), node.outputs.end(), has)))
      found.push_back(id);
  }
  return found;
}

void PartPlans::leave(const Nodes& quantized, plan::QuantPlan& plan) const {
  std::set<ir::ValueId> touched;
  for (const ir::NodeId id : quantized) {
    const ir::Node& node = state_.graph().node(id);
    touched.insert(node.inputs.begin(), node.inputs.end());
    touched.insert(node.outputs.begin(), node.outputs.end());
  }
  plan.remove_if([&](const plan::QuantSlot& slot) { return !touched.contains(slot.value); });
  std::erase_if(plan.extras, [&](const plan::ExtraStage& extra) {
    return !quantized.contains(extra.node) || !plan.has(extra.value);
  });
}

Result<Agreement> PartPlans::quantize_only(const Nodes& quantized) const {
  ir::Model model = state_.model;  // shares the weights
  Diagnostics ignored;
  RunState trial{.model = model,
                 .settings = state_.settings,
                 .diagnostics = ignored,
                 .selection = state_.selection,
                 .plan = state_.plan,
                 .source = state_.source,
                 .calibrated = state_.calibrated};
  leave(quantized, trial.plan);
  std::vector<PassTime> times;
  RunnerOptions options;
  options.skip = {"compensate-rounding", "mix-precision", "finetune-weights"};
  const PhaseRange planning{.from = pass::Phase::kRestructure, .until = pass::Phase::kWrite};
  QQ_RETURN_IF_ERROR(run_passes(trial, planning, times, options));
  return run_plan(trial, expected_);
}

}  // namespace quarkq::pipeline
