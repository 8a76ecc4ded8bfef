// SPDX-License-Identifier: MIT
// Runs passes: order, switching off, timing, verification and rolling back belong here, never to a pass.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "passes/passes.h"
#include "pipeline/guard.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// A stretch of the pipeline: phases from `from` on, those from `until` on left out. Null: from the start, to the end.
struct PhaseRange {
  const char* from = nullptr;
  const char* until = nullptr;
};

struct RunnerOptions {
  /// Hears the phase names and returns false to interrupt; may be empty.
  std::function<bool(const std::string& phase)> phase;
  std::set<std::string> only, skip;  ///< names of passes; `only` empty: all
  OutputGuard* guard = nullptr;      ///< null: float outputs are not compared
  /// Hears each pass that ran; may be empty.
  std::function<void(const passes::PassInfo&, const ir::Model&)> after;
};

/// Runs the enabled passes of passes.def in order and appends what each took. When a phase that rewrites the float
/// model moved its outputs beyond the guard's tolerance, the phase runs again pass by pass, and the guilty pass is left
/// out with a warning ("pass-rolled-back").
Status run_passes(passes::PassContext& context, PhaseRange range, std::vector<PhaseTime>& times,
                  const RunnerOptions& options);

/// Did a pass of this phase change something?
bool has_changed(const std::vector<PhaseTime>& times, const std::string& phase);

/// The passes of one phase; run_passes() calls it.
Status run_phase(passes::PassContext& context, const std::vector<const passes::PassInfo*>& passes,
                 std::vector<PhaseTime>& times, const RunnerOptions& options);

/// The passes that make a float model ready for the executor without changing its function: constants folded,
/// BatchNormalization folded. For `run` and for the float side of comparisons.
Status prepare_for_run(ir::Model& model, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
