// SPDX-License-Identifier: MIT
// Nodes at which two formats meet, and the stages that convert all their activations to one of them
// (ref:marking#second-stages, ref:mixed-precision#format-boundaries).
#pragma once

#include <functional>

#include "pass/context.h"

namespace quarkq::planning {

struct DualPairRules {
  /// Whether the format of the tensor was selected specifically for it.
  std::function<bool(ir::ValueId)> is_special;
  /// Whether the node computes in such a format if one of its tensors has one; otherwise it computes in the common
  /// format.
  std::function<bool(const ir::Node&)> is_special_node;
  bool counts_absorbed = false;  ///< Values inside a fused pair also have a stage, and keep it if a second stage is
                                 ///< added.
};

/// Fills `context.plan.extras`.
void find_extra_stages(pass::PlanContext& context, const DualPairRules& rules);

}  // namespace quarkq::planning
