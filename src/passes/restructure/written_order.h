// SPDX-License-Identifier: MIT
// The order that the float graph's nodes will have among the Q/DQ nodes of the written model (spec 02 B.1), without
// writing it: sweeps of the adjust phase follow it.
#pragma once

#include <vector>

#include "plan/quant_plan.h"

namespace quarkq::passes {

/// The graph's nodes as emit_qdq will order them. Fails on a cycle. O(n log n).
Result<std::vector<ir::NodeId>> written_order(const ir::Graph& graph, const plan::QuantPlan& plan);

}  // namespace quarkq::passes
