// SPDX-License-Identifier: MIT
// The rounds of position rules, for the pass refine_positions and for tests.
#pragma once

#include <vector>

#include "planning/constrain/position_rules.h"

namespace quarkq::planning {

struct Refinement {
  int loops = 0;
  bool is_settled = true;  ///< False if the last round still made a move that requires another round.
  std::vector<PositionMove> moves;
};

/// Applies the enabled rules in at most MaxLoopNum rounds.
Refinement refine(const ir::Graph& graph, plan::QuantPlan& plan, const config::Settings& settings);

}  // namespace quarkq::planning
