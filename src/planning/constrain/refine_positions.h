// SPDX-License-Identifier: MIT
// The rounds of position rules, for the pass refine_positions and for tests.
#pragma once

#include <vector>

#include "planning/constrain/position_rules.h"

namespace quarkq::planning {

struct Refinement {
  int loops = 0;
  bool is_settled = true;  ///< false: the last round still moved something that asks for another
  std::vector<PositionMove> moves;
};

/// Applies the enabled rules round by round, MaxLoopNum rounds at most.
Refinement refine(const ir::Graph& graph, plan::QuantPlan& plan, const config::Settings& settings);

}  // namespace quarkq::planning
