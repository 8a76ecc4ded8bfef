// SPDX-License-Identifier: MIT
// What the settings EvalMetrics and debug_mode add to the report of a result.
#pragma once

#include "pipeline/quantize_run.h"

namespace quarkq::pipeline {

/// Fills in report.metrics, of the loaded and the written model over the evaluation samples, and report.nodes, where
/// the settings ask for them. What keeps the models from being compared is a warning: the result itself is complete.
Status evaluate_result(Run& run);

}  // namespace quarkq::pipeline
