// SPDX-License-Identifier: MIT
// All passes of the three libraries, from pass/passes.def.
#pragma once

#include <vector>

#include "pass/pass_info.h"

namespace quarkq::pipeline {

/// "fuse_batch_norm" as "fuse-batch-norm", which lives as long as the program.
const char* dashed_name(const char* function);

/// In the order they run.
const std::vector<pass::PassInfo>& all_passes();

}  // namespace quarkq::pipeline
