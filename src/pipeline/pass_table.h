// SPDX-License-Identifier: MIT
// All passes of the three libraries, from pass/passes.def.
#pragma once

#include <vector>

#include "pass/pass_info.h"

namespace quarkq::pipeline {

/// In the order they run.
const std::vector<pass::PassInfo>& all_passes();

}  // namespace quarkq::pipeline
