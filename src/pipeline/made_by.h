// SPDX-License-Identifier: MIT
// What a quantized model says about its making, so that it can be traced: version, settings and calibration.
#pragma once

#include "pipeline/run_state.h"

namespace quarkq::pipeline {

/// Writes into the metadata of `model`: quarkq.version; quarkq.settings, the hash of all settings that may change a
/// result, whichever way they were given; and, where ranges were measured, quarkq.calibration, the hash of these.
/// Hashes identify, they prove nothing (base/hash.h). Does nothing where the settings say so, and in compat mode.
void write_metadata(const RunState& state, ir::Model& model);

}  // namespace quarkq::pipeline
