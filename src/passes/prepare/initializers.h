// SPDX-License-Identifier: MIT
// Initializer hygiene (spec 04 A.5): stored tensors with one reader each, so that each may get parameters of its own.
#pragma once

#include "passes/context.h"

namespace quarkq::passes {

/// Each further use of an initializer by the op types of `copy_shared_init` (empty list: all) gets a copy.
Result<Changed> copy_shared_init(PassContext& context);
/// The same for input 2 and `copy_bias_init`, only for integer types of at most 16 bits and methods with float scales.
Result<Changed> copy_bias_init(PassContext& context);

}  // namespace quarkq::passes
