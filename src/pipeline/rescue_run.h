// SPDX-License-Identifier: MIT
// When a run of quantize() is rescued, and what becomes of it (docs/guards.md): after its result was found to be poor,
// or, where fine-tuning follows, before it. rescue.h searches, this applies.
#pragma once

#include "pipeline/compare.h"
#include "pipeline/quantize_run.h"

namespace quarkq::pipeline {

/// Plans a poor result again with the least costly remedies of its target. True: a remedy was applied, and the result
/// is written. `known`: outputs of `original` on samples of the calibration; may be null.
Result<bool> rescue(Run& run, const ir::Model& original, const ExpectedOutputs* known);

/// Writes the settings that give the rescued model without a rescue to `RescueReport::settings_path`, if there is one.
Status save_rescue_settings(const Run& run);

/// Shall remedy_before_tuning() run between the phases constrain and tune?
bool looks_before_tuning(const Run& run);

/// Learned rounding cannot bring back what a format lost. A plan whose outputs are poor before fine-tuning is made
/// again with the remedies of rescue(), without that of rounding. `original`: the float model whose function the plan
/// has.
Status remedy_before_tuning(Run& run, const ir::Model& original);

}  // namespace quarkq::pipeline
