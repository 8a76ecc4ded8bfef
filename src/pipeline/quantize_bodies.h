// SPDX-License-Identifier: MIT
// EnableSubgraph: bodies of If, Loop and Scan are quantized as models of their own (ADR 0017).
#pragma once

#include "pipeline/run_state.h"

namespace quarkq::pipeline {

/// Quantizes the bodies in the nodes of state.model, and those inside of them, where the settings ask for it. REQUIRES:
/// calibrated; not written yet. Bodies whose node is excluded stay float. Without a call among the samples only weights
/// are quantized. What a body lacks for that is reported, and it stays float.
Result<Changed> quantize_bodies(RunState& state);

}  // namespace quarkq::pipeline
