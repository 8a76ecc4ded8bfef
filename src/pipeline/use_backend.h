// SPDX-License-Identifier: MIT
// The setting quarkq.backend: calibration and `quarkq run` compute float models in ONNX Runtime.
#pragma once

#include "base/diagnostics.h"
#include "config/quant_config.h"
#include "exec/environment.h"
#include "ir/graph.h"

namespace quarkq::pipeline {

/// Opens the backend that the settings request, with as many threads as kernels use, and adds it to the environment.
Status use_backend(const config::QuantConfig& asked, exec::Environment& environment);

/// Adds a notice about the backend that runs the calibration samples, unless quarkq runs them itself.
void report_backend(const exec::Environment& environment, Diagnostics& diagnostics);

// Operators that quarkq has no kernel for run in ONNX Runtime: those of the user's libraries (UserCustomOpLibPath), and
// with quarkq.backend those of ONNX Runtime itself.

/// Loads the libraries that the settings request and adds their operators to the environment.
Status use_user_operators(const config::QuantConfig& asked, exec::Environment& environment);

/// Fails with kUnsupported if samples cannot run through the graph because nobody knows an operator of it: neither
/// quarkq nor ONNX, and no library of the environment. Bodies are not checked: they may never be called.
Status check_operators_known(const ir::Model& model, const exec::Environment& environment);

/// Gives the outputs of nodes that only ONNX Runtime knows their types, and what follows from them. Nothing without
/// custom operators. kUnsupported: ONNX Runtime does not know the operator either.
Status type_user_operators(ir::Model& model, const exec::Environment& environment, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
