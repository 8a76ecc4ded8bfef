// SPDX-License-Identifier: MIT
// When and how a run of quantize() is rescued (docs/guards.md): after its result was found to be poor, or before
// fine-tuning. search.h searches; this file applies the result.
#pragma once

#include "compare/expected_outputs.h"
#include "pipeline/run/quantize_run.h"

namespace quarkq::pipeline {

/// Plans a poor result again with the least costly remedies of its target. Returns true if a remedy was applied and the
/// result is written. `original`: the float model whose outputs are wanted.
Result<bool> rescue(Run& run, const ir::Model& original);

/// Writes the settings that give the rescued model without a rescue to `RescueReport::settings_path`, if there is one.
Status save_rescue_settings(const Run& run);

/// Returns whether remedy_before_tuning() runs between the phases constrain and tune.
bool looks_before_tuning(const Run& run);

/// Applies the remedies of rescue(), without rounding, to a plan whose outputs are poor before fine-tuning: learned
/// rounding cannot restore what a format lost. `original` is the float model whose function the plan has.
Status remedy_before_tuning(Run& run, const ir::Model& original);

}  // namespace quarkq::pipeline
