// SPDX-License-Identifier: MIT
// The setting quarkq.backend: calibration and `quarkq run` compute float models in ONNX Runtime.
#pragma once

#include "base/diagnostics.h"
#include "config/quant_config.h"
#include "ir/graph.h"

namespace quarkq::pipeline {

/// Opens what the settings ask for as exec::backend(); without that, one of earlier calls is forgotten. Threads: those
/// that kernels use.
Status use_backend(const config::QuantConfig& asked);

/// A notice of who runs the calibration samples, unless that is quarkq itself.
void report_backend(Diagnostics& diagnostics);

// Operators that quarkq has no kernel for run in ONNX Runtime, in every session of the process: those of the user's
// libraries (UserCustomOpLibPath), and with quarkq.backend those of ONNX Runtime itself.

/// Loads what the settings ask for; without that, operators of earlier calls are forgotten.
Status use_user_operators(const config::QuantConfig& asked);

/// Fails with kUnsupported if samples cannot run through the graph because nobody knows an operator of it: neither
/// quarkq nor ONNX, and no library that use_user_operators() loaded. Bodies are not checked: they may never be called.
Status check_operators_known(const ir::Model& model);

/// Gives the outputs of nodes that only ONNX Runtime knows their types, and what follows from them. Nothing without
/// custom operators. kUnsupported: ONNX Runtime does not know the operator either.
Status type_user_operators(ir::Model& model, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
