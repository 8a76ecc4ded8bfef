// SPDX-License-Identifier: MIT
// Stored integers follow when parameters move after they were made.
#pragma once

#include <set>

#include "pass/context.h"

namespace quarkq::planning {

/// Encodes the constants whose parameters are among `changed` again from their float values.
Status reencode_constants(pass::PlanContext& context, const std::set<plan::ParamId>& changed);

}  // namespace quarkq::planning
