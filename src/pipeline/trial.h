// SPDX-License-Identifier: MIT
// A trial: a run of its own that starts from the state of another, and what its outputs are worth. The rescue and
// analyze() are loops over trials; an accepted trial becomes the run.
#pragma once

#include <vector>

#include "pipeline/compare.h"
#include "pipeline/pass_runner.h"
#include "pipeline/run_state.h"

namespace quarkq::pipeline {

struct Trial {
  RunState state;
  Agreement outputs = {};
};

/// Returns a copy of `from` that reports nothing: no progress, no fine-tuned layers, and findings of its own.
RunState trial_of(const RunState& from);

/// Returns the same as phase mark finds it: the calibrated model without a plan. What was measured is kept.
/// REQUIRES: `from` has been calibrated.
RunState trial_before_mark(const RunState& from);

/// Runs the phases from `from` on, up to phase write, and compares the outputs of the plan with `expected`.
/// kUnsupported without an output to compare.
Result<Trial> run_trial(RunState state, pass::Phase from, const ExpectedOutputs& expected,
                        const RunnerOptions& options = {});

/// Returns the outputs of a plan that is ready to be written.
Result<Agreement> judge_plan(RunState& planned, const ExpectedOutputs& expected);

/// Returns the worst output. A value that is not a number is the worst. kUnsupported without an output to compare.
Result<Agreement> worst_agreement(const std::vector<OutputAgreement>& outputs);

}  // namespace quarkq::pipeline
