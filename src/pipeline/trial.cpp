// SPDX-License-Identifier: MIT
#include "pipeline/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

Result<Trial> run_trial(RunState state, pass::Phase from, const ExpectedOutputs& expected,
                        const RunnerOptions& options) {
  Trial trial{std::move(state)};
  std::vector<PassTime> times;
  QQ_RETURN_IF_ERROR(run_passes(trial.state, {.from = from, .until = pass::Phase::kWrite}, times, options));
  QQ_TRY(trial.outputs, judge_plan(trial.state, expected));
  return trial;
}

Result<Agreement> judge_plan(RunState& planned, const ExpectedOutputs& expected) {
  QQ_TRY(const ir::Model simulated, exec::simulate(planned.model, planned.plan));
  QQ_TRY(const std::vector<OutputAgreement> outputs, expected.compare(simulated, planned.diagnostics));
  return worst_agreement(outputs);
}

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

}  // namespace quarkq::pipeline
