// SPDX-License-Identifier: MIT
// The setting quarkq.backend: calibration and `quarkq run` compute float models in ONNX Runtime.
#pragma once

#include "base/diagnostics.h"
#include "config/quant_config.h"
#include "exec/environment.h"
#include "ir/graph.h"

namespace quarkq::pipeline {

/// Opens the backend of the settings and adds it to the environment. It uses the number of threads of kernels.
Status use_backend(const config::QuantConfig& asked, exec::Environment& environment);

/// Adds a notice with the runtime of the calibration samples, unless it is quarkq itself.
void report_backend(const exec::Environment& environment, Diagnostics& diagnostics);

// Operators without a kernel in quarkq run in ONNX Runtime: operators of the user's libraries (UserCustomOpLibPath),
// and with quarkq.backend operators of ONNX Runtime itself.

/// Loads the operators of the settings and adds them to the environment.
Status use_user_operators(const config::QuantConfig& asked, exec::Environment& environment);

/// Fails with kUnsupported if samples cannot run through the graph because an operator is unknown to quarkq, ONNX and
/// the libraries of the environment. Bodies are not checked, because they may never be called.
Status check_operators_known(const ir::Model& model, const exec::Environment& environment);

/// Infers the types of outputs of nodes that only ONNX Runtime supports, and the types that depend on them. Does
/// nothing without custom operators. Fails with kUnsupported if ONNX Runtime does not know the operator either.
Status type_user_operators(ir::Model& model, const exec::Environment& environment, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
