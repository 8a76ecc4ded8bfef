// SPDX-License-Identifier: MIT
// Prediction of what the target of a run would run of its result.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "quarkq/check.h"

namespace quarkq::pipeline {

/// Predicts the placement of `result`, to be written to `path`, for settings.target, otherwise for the compiler of the
/// preset. Returns nullopt if neither is set. Reports if the requested compiler aborts, keeps everything on the CPU or
/// computes wrong results; the model is still written.
Result<std::optional<TargetReport>> judge_target(const ir::Model& result, const std::string& path,
                                                 const config::Settings& settings, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
