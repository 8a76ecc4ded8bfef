// SPDX-License-Identifier: MIT
#include "pipeline/run/trial.h"

#include <utility>

#include "exec/simulate.h"

namespace quarkq::pipeline {

RunState trial_of(const RunState& from) {
  RunState trial = from;
  trial.diagnostics = {};
  trial.progress = nullptr;
  trial.tuning = {.rounded = from.tuning.rounded};
  return trial;
}

RunState trial_before_mark(const RunState& from) {
  RunState trial = trial_of(from);
  trial.model = *from.calibrated;
  trial.plan = {};
  trial.diagnostics = from.before_plan;
  return trial;
}

Result<Trial> run_trial(RunState state, pass::Phase from, const compare::ExpectedOutputs& expected,
                        const RunnerOptions& options) {
  Trial trial{std::move(state)};
  std::vector<PassTime> times;
  QQ_RETURN_IF_ERROR(run_passes(trial.state, {.from = from, .until = pass::Phase::kWrite}, times, options));
  QQ_TRY(trial.outputs, judge_plan(trial.state, expected));
  return trial;
}

Result<Agreement> judge_plan(RunState& planned, const compare::ExpectedOutputs& expected) {
  QQ_TRY(const ir::Model simulated, exec::simulate(planned.model, planned.plan));
  QQ_TRY(const ir::Model whole, whole_model(simulated, planned.tail));
  QQ_TRY(const std::vector<OutputAgreement> outputs, expected.compare(whole, planned.diagnostics));
  return compare::worst_agreement(outputs);
}

}  // namespace quarkq::pipeline
