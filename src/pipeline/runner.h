// SPDX-License-Identifier: MIT
// Runs passes: order, switching off, timing and verification belong here, never to a pass.
#pragma once

#include <functional>
#include <vector>

#include "passes/passes.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// A stretch of the pipeline: phases from `from` on, those from `until` on left out. Null: from the start, to the end.
struct PhaseRange {
  const char* from = nullptr;
  const char* until = nullptr;
};

/// Runs the enabled passes of passes.def in order and appends what each took. `phase` hears the phase names and returns
/// false to interrupt; it may be empty.
Status run_passes(passes::PassContext& context, PhaseRange range, std::vector<PhaseTime>& times,
                  const std::function<bool(const std::string& phase)>& phase);

/// The passes that make a float model ready for the executor without changing its function: constants folded,
/// BatchNormalization folded. For `run` and for the float side of comparisons.
Status prepare_for_run(ir::Model& model, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
