// SPDX-License-Identifier: MIT
// What the target of a run would make of its result.
#pragma once

#include "base/diagnostics.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Fills report.target, and reports what ends the compiler, keeps everything on the CPU or makes results wrong: such a
/// model is written, but never without a word. Nothing without settings.target.
Status judge_target(const ir::Model& result, const config::Settings& settings, Diagnostics& diagnostics,
                    QuantizeReport& report);

}  // namespace quarkq::pipeline
