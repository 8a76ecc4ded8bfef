// SPDX-License-Identifier: MIT
// Clips whose upper limit is part of the function: those of a spelled-out hard-swish or hard-sigmoid.
#pragma once

#include "ir/graph.h"

namespace quarkq::pass {

/// True for a Clip after the addition of a constant, or whose result, scaled by constants, multiplies another tensor:
/// x * clip(x + 3, 0, 6) / 6. Without its upper limit such a gate grows with x instead of ending at 1. Q/DQ nodes are
/// looked through.
bool is_gate(const ir::Graph& graph, const ir::Node& clip);

}  // namespace quarkq::pass
