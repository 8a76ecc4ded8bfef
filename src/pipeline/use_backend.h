// SPDX-License-Identifier: MIT
// The setting quarkq.backend: calibration and `quarkq run` compute float models in ONNX Runtime.
#pragma once

#include "base/diagnostics.h"
#include "config/quant_config.h"

namespace quarkq::pipeline {

/// Opens what the settings ask for as exec::backend(); without that, one of earlier calls is forgotten. Threads: those
/// that kernels use.
Status use_backend(const config::QuantConfig& asked);

/// A notice of who runs the calibration samples, unless that is quarkq itself.
void report_backend(Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
