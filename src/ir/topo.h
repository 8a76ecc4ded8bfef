// SPDX-License-Identifier: MIT
// Node orders. The order of a graph is data (ref:writing#node-order), so only sort_topologically() changes it.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// The nodes so that each comes after what it reads (inputs and captures): the list itself when it is such an order,
/// else always the first node of the list that is ready. Fails on a cycle, naming a node on it. No recursion;
/// O(n) for a valid list, else O(n log n).
Result<std::vector<NodeId>> execution_order(const Graph& graph);

/// Brings the graph's list into the order of ref:writing#node-order, which knows nothing of captures. Where that is
/// no valid order, the list gets execution_order() instead and the answer is false. Fails on a cycle; the list
/// stays then.
Result<bool> sort_topologically(Graph& graph);

}  // namespace quarkq::ir
