// SPDX-License-Identifier: MIT
// How large a bias can be before its size no longer matters.
#pragma once

#include "pass/context.h"

namespace quarkq::planning {

/// The magnitude from which on a value of an int32 bias drives the quantized result of its node to the end of its
/// range, whatever the node reads: twice the range, for 8-bit products, whose sums are far smaller than 2^31 steps.
/// Such values may saturate. Returns infinity if the range is not known, or products have more bits.
double bias_limit(const pass::PlanContext& context, const plan::QuantSlot& bias);

}  // namespace quarkq::planning
