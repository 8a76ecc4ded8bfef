// SPDX-License-Identifier: MIT
// What the target of a run would make of its result.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "quarkq/check.h"

namespace quarkq::pipeline {

/// What settings.target, or without one the compiler that the preset is for, would make of `result`, which is written
/// to `path`; nothing without either. What ends the compiler that was asked for, keeps everything on the CPU or makes
/// results wrong is reported: such a model is written, but never without a word.
Result<std::optional<TargetReport>> judge_target(const ir::Model& result, const std::string& path,
                                                 const config::Settings& settings, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
