// SPDX-License-Identifier: MIT
// Declarations of the passes of this library, expanded from its rows of pass/passes.def.
#pragma once

#include "base/error.h"
#include "pass/context.h"

namespace quarkq::planning {

#define SELECT_PASS(phase, function, effect, when, summary) Result<Changed> function(pass::SelectContext& context);
#define FLOAT_PASS(phase, function, effect, when, summary)
#define PLAN_PASS(phase, function, effect, when, summary) Result<Changed> function(pass::PlanContext& context);
#define RESTRUCTURE_PASS(phase, function, effect, when, summary) \
  Result<Changed> function(pass::RestructureContext& context);
#define QDQ_PASS(phase, function, effect, when, summary)
#include "pass/passes.def"
#undef SELECT_PASS
#undef FLOAT_PASS
#undef PLAN_PASS
#undef RESTRUCTURE_PASS
#undef QDQ_PASS

}  // namespace quarkq::planning
