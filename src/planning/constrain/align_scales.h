// SPDX-License-Identifier: MIT
// The steps of align_scales (ref:npu#alignment), for the pass and for tests.
#pragma once

#include <set>

#include "pass/context.h"

namespace quarkq::planning {

struct Alignment {
  int loops = 0;
  bool is_settled = true;
  std::set<plan::ParamId> changed;  ///< Changed parameters of activations.
};

/// Copies scale and zero point between input and output of the operators whose Align option is on, round by round.
/// Calls `after_round` at the end of each round.
Result<Alignment> align(pass::PlanContext& context, const std::function<Status()>& after_round);

/// Sets the scale of int32 biases whose scale is no longer the product of their node's scales. The reference divides
/// the stored integers and truncates, and only if no channel agrees. Returns true if a bias changed.
Result<bool> rescale_bias_codes(pass::PlanContext& context);

}  // namespace quarkq::planning
