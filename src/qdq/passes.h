// SPDX-License-Identifier: MIT
// Declarations of the passes of this library, expanded from its rows of pass/passes.def.
#pragma once

#include "base/error.h"
#include "pass/context.h"

namespace quarkq::qdq {

#define QQ_SELECT_PASS(phase, function, effect, when, summary)
#define QQ_FLOAT_PASS(phase, function, effect, when, summary)
#define QQ_PREPROCESS_PASS(phase, function, effect, when, summary)
#define QQ_PLAN_PASS(phase, function, effect, when, summary)
#define QQ_RESTRUCTURE_PASS(phase, function, effect, when, summary)
#define QQ_QDQ_PASS(phase, function, effect, when, summary) Result<Changed> function(pass::QdqContext& context);
#define QQ_RESULT_PASS(phase, function, effect, when, summary) Result<Changed> function(pass::QdqContext& context);
#include "pass/passes.def"

}  // namespace quarkq::qdq
