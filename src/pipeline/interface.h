// SPDX-License-Identifier: MIT
// The inputs and outputs that a result shares with the float model: programs that run the float model must be able to
// run the result.
#pragma once

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::pipeline {

/// Fails with kInternal if the inputs that a caller must feed, or the outputs, differ from those of `wanted` in name,
/// order or element type. Dimensions may differ: a setting may fix them, and inference corrects those of outputs.
Status check_interface(const ir::Graph& wanted, const ir::Graph& result);

/// Reports inputs and outputs whose element type or dimensions a setting has changed, all in one notice
/// ("interface-changed"). Reports nothing if the two models have different numbers of inputs or outputs.
void report_changed_interface(const ir::Graph& loaded, const ir::Graph& result, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
