// SPDX-License-Identifier: MIT
// Tensors with infinities or sentinels of masks that no format of the plan can hold.
#pragma once

#include "pass/context.h"

namespace quarkq::planning {

/// Leaves in float:
/// - tensors that a block format would quantize, that only Softmax reads and that hold the sentinels of a mask. The
/// shared
///   exponent of a block is that of its largest value: a sentinel makes its neighbours zero or NaN;
/// - tensors with infinities that are not for a Softmax, such as masked outputs. Stored infinities become the largest
///   number in every format, those of activations in most.
Result<Changed> release_infinities(pass::PlanContext& context);

}  // namespace quarkq::planning
