// SPDX-License-Identifier: MIT
// Runs passes: order, switching off, timing, verification, rolling back and planning again belong here, never to a
// pass.
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

// All passes of the three libraries, from pass/passes.def.

/// "fuse_batch_norm" as "fuse-batch-norm", which lives as long as the program.
const char* dashed_name(const char* function);

/// In the order they run.
const std::vector<pass::PassInfo>& all_passes();

/// A part of the pipeline: phases from `from` on, those from `until` on left out. Absent: from the start, to the end.
struct PhaseRange {
  std::optional<pass::Phase> from = {}, until = {};
};

struct RunnerOptions {
  /// Receives the phase names and returns false to interrupt; may be empty.
  std::function<bool(const std::string& phase)> phase;
  std::set<std::string> only, skip;    ///< names of passes; `only` empty: all
  pass::OutputGuard* guard = nullptr;  ///< null: float outputs are not compared
  /// Receives each pass that ran; may be empty.
  std::function<void(const pass::PassInfo&, const ir::Model&)> after;
};

/// Runs the enabled passes of passes.def in order and appends what each took.
/// When a phase that rewrites the float model moved its outputs beyond the guard's tolerance, the phase runs again pass
/// by pass, and the pass responsible is undone with a warning ("pass-rolled-back"); what it reported is rolled back,
/// too. When a pass of phase calibrate asks for another plan, all passes of phase mark run again, then calibration,
/// which measures only what it has not measured yet.
Status run_passes(RunState& state, PhaseRange range, std::vector<PassTime>& times, const RunnerOptions& options);

/// One pass, called with the context of its kind.
Result<Changed> run_pass(RunState& state, const pass::PassFunction& function);

/// Did a pass of this phase change something?
bool has_changed(const std::vector<PassTime>& times, pass::Phase phase);

/// The passes of one phase; run_passes() calls it.
Status run_phase(RunState& state, const std::vector<const pass::PassInfo*>& passes, std::vector<PassTime>& times,
                 const RunnerOptions& options);

/// The passes that make a float model ready for the executor without changing its function: constants folded,
/// BatchNormalization folded. For `run` and for the float side of comparisons.
Status prepare_for_run(ir::Model& model, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
