// SPDX-License-Identifier: MIT
// From the plan to the result: the phases from write on, and the passes of the user's list for the result.
#pragma once

#include <vector>

#include "pipeline/pass_runner.h"

namespace quarkq::pipeline {

Status write_plan(RunState& state, std::vector<PassTime>& times, const RunnerOptions& options);

}  // namespace quarkq::pipeline
