// SPDX-License-Identifier: MIT
// What each fusion and conversion of spec 04 A.7 and A.9 ends with, also when it changed nothing: later passes depend
// on the order this leaves.
#pragma once

#include "pass/context.h"

namespace quarkq::pass {

/// Removes initializers that nobody reads and sorts the nodes. kYes when that or the caller changed something.
Result<Changed> tidy_up(ir::Graph& graph, Changed so_far);

}  // namespace quarkq::pass
