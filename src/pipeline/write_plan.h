// SPDX-License-Identifier: MIT
// From the plan to the result: bodies of control flow, the phases from write on, and the passes of the user's list for
// the result.
#pragma once

#include <vector>

#include "pipeline/pass_runner.h"

namespace quarkq::pipeline {

Status write_plan(RunState& state, std::vector<PassTime>& times, const RunnerOptions& options);

/// Did anything of the plan or in bodies get written?
bool has_written(const std::vector<PassTime>& times);

}  // namespace quarkq::pipeline
