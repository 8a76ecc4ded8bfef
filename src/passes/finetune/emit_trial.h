// SPDX-License-Identifier: MIT
// The model as the plan would write it, on a copy, for what tries plans out or learns from the quantized values.
#pragma once

#include "passes/context.h"

namespace quarkq::passes {

/// Q/DQ nodes in `copy.model`, without the pairs that RemoveQDQMulAdd and RemoveQDQBetweenOps take away (spec 04
/// section 0: those go first). What comes behind does not change what layers read.
Status emit_trial(PassContext& copy);

}  // namespace quarkq::passes
