// SPDX-License-Identifier: MIT
// Clips whose upper limit is part of the function: the gates of a decomposed hard-swish or hard-sigmoid.
#pragma once

#include "ir/graph.h"

namespace quarkq::pass {

/// Returns true for a Clip that follows the addition of a constant, or whose result, scaled by constants, multiplies
/// another tensor: x * clip(x + 3, 0, 6) / 6. Without its upper limit such a gate grows with x instead of saturating at
/// 1. Ignores Q/DQ nodes in between.
bool is_gate(const ir::Graph& graph, const ir::Node& clip);

}  // namespace quarkq::pass
