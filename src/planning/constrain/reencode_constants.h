// SPDX-License-Identifier: MIT
// Stored integers are updated when their parameters change.
#pragma once

#include <set>

#include "pass/context.h"

namespace quarkq::planning {

/// Encodes the constants whose parameters are among `changed` again from their float values.
Status reencode_constants(pass::PlanContext& context, const std::set<plan::ParamId>& changed);

}  // namespace quarkq::planning
