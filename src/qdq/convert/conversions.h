// SPDX-License-Identifier: MIT
// Declarations of the conversions of this library, expanded from its rows of pass/conversions.def.
#pragma once

#include "pass/pass_info.h"

namespace quarkq::qdq {

#define QQ_QDQ_CONVERSION(function, claim, options, summary) Result<size_t> function(pass::ConvertContext& context);
#define QQ_FLOAT_CONVERSION(function, claim, options, summary)
#define QQ_PASS_CONVERSION(function, claim, options, settings)
#define QQ_PLAN_CONVERSION(function, claim, options, settings)
#include "pass/conversions.def"

}  // namespace quarkq::qdq
