// SPDX-License-Identifier: MIT
// Where two formats meet at a node, and the stages that make all its activations pass through one of them
// (ref:marking#second-stages, ref:mixed-precision#format-boundaries).
#pragma once

#include <functional>

#include "pass/context.h"

namespace quarkq::planning {

struct DualPairRules {
  /// The format of the tensor was chosen for it.
  std::function<bool(ir::ValueId)> is_special;
  /// The node computes in a chosen format, if one of its tensors has one; otherwise in a common one.
  std::function<bool(const ir::Node&)> is_special_node;
  bool counts_absorbed = false;  ///< values inside a fused pair have a stage, too, and keep it when a second one comes
};

/// Fills `context.plan.extras`.
void find_extra_stages(pass::PlanContext& context, const DualPairRules& rules);

}  // namespace quarkq::planning
