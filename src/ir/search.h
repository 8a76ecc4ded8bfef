// SPDX-License-Identifier: MIT
// What a graph keeps no index of: graphs inside of its nodes, nodes by name. Each call looks anew.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// The graphs that the node's attributes hold (bodies of If, Loop and Scan), in their order; not those inside of them.
std::vector<const Graph*> nested_graphs(const Node& node);

/// The first node of this name in the graph's order; an invalid id when none has it.
NodeId node_named(const Graph& graph, std::string_view name);

}  // namespace quarkq::ir
