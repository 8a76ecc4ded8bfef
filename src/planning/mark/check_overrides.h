// SPDX-License-Identifier: MIT
// Whether the settings of single tensors fit the tensors as they are marked.
#pragma once

#include "pass/context.h"

namespace quarkq::planning {

/// Fails with kInvalidArgument if a zero point is outside of its tensor's type, or if the number of entries is neither
/// 1 nor the number of channels. REQUIRES: tensors are marked.
Status check_overrides(const pass::PlanContext& context);

}  // namespace quarkq::planning
