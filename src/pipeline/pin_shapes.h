// SPDX-License-Identifier: MIT
// Input shapes that the settings fix: legalize.shapes (the option --shape) and legalize.batch.
#pragma once

#include "base/diagnostics.h"
#include "config/quant_config.h"
#include "ir/graph.h"

namespace quarkq::pipeline {

/// Writes the shapes into the inputs and infers all others again. Compilers for NPUs take static shapes only. Before
/// anything else happens to the model, so that samples are checked against these shapes. kInvalidArgument for a shape
/// of an unknown input, and for one that differs from what the model says.
Status pin_shapes(ir::Model& model, const config::LegalizeBlock& legalize, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
