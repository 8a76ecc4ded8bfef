// SPDX-License-Identifier: MIT
// Static shapes by request (spec 04 A.8).
#pragma once

#include "passes/context.h"

namespace quarkq::passes {

/// Gives all graph inputs and outputs the shapes of the option `fix_shapes`, and inner values what follows from them.
/// Leaves the model as it is, with a warning, when a name is missing or a shape contradicts the model.
Result<Changed> fix_shapes(PassContext& context);

}  // namespace quarkq::passes
