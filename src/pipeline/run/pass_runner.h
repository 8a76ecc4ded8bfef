// SPDX-License-Identifier: MIT
// Runs passes. Order, enabling, timing, verification, rollback and planning again belong to this file, never to a pass.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pass/output_guard.h"
#include "pass/pass_info.h"
#include "pipeline/run/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Converts "fuse_batch_norm" to "fuse-batch-norm". The result exists until the program ends.
const char* dashed_name(const char* function);

/// Returns the passes in the order of execution.
const std::vector<pass::PassInfo>& all_passes();

/// A part of the pipeline: the phases from `from` to before `until`. Absent: from the start, to the end.
struct PhaseRange {
  std::optional<pass::Phase> from = {}, until = {};
};

struct RunnerOptions {
  /// Receives the phase names and returns false to interrupt; may be empty.
  std::function<bool(const std::string& phase)> phase;
  std::set<std::string> only, skip;    ///< Names of passes; an empty `only` means all.
  pass::OutputGuard* guard = nullptr;  ///< Null: float outputs are not compared.
  /// Receives each pass that ran; may be empty.
  std::function<void(const pass::PassInfo&, const ir::Model&)> after;
};

/// Runs the enabled passes of passes.def in order and appends their times. If a phase that rewrites the float model
/// moves its outputs beyond the guard's tolerance, the phase runs again pass by pass; the responsible pass and its
/// findings are undone with a warning ("pass-rolled-back"). If a pass of phase calibrate requests another plan, all
/// passes of phase mark run again, then calibration, which measures only new tensors.
Status run_passes(RunState& state, PhaseRange range, std::vector<PassTime>& times, const RunnerOptions& options);

/// Runs one pass with the context of its kind.
Result<Changed> run_pass(RunState& state, const pass::PassFunction& function);

/// Returns whether a pass of this phase changed something.
bool has_changed(const std::vector<PassTime>& times, pass::Phase phase);

/// Runs the passes of one phase; called by run_passes().
Status run_phase(RunState& state, const std::vector<const pass::PassInfo*>& passes, std::vector<PassTime>& times,
                 const RunnerOptions& options);

/// Runs the passes that prepare a float model for the executor without changing its function: folding of constants and
/// BatchNormalization. For `run` and for the float side of comparisons.
Status prepare_for_run(ir::Model& model, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
