// SPDX-License-Identifier: MIT
// Stored integers follow when parameters move after they were made.
#pragma once

#include <set>

#include "passes/context.h"

namespace quarkq::passes {

/// Encodes the constants whose parameters are among `changed` again from their float values.
Status reencode_constants(PassContext& context, const std::set<plan::ParamId>& changed);

}  // namespace quarkq::passes
