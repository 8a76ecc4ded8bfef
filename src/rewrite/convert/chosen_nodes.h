// SPDX-License-Identifier: MIT
// The nodes that a conversion is for: all, or those between named starts and ends.
#pragma once

#include <vector>

#include "pass/conversion.h"

namespace quarkq::rewrite {

/// By index of the node. Option `subgraphs`: "[[[start, ...], [end, ...]], ...]", each the nodes that are reached from
/// a start and reach an end, both included; an empty list of starts or ends does not restrict. Empty: all nodes.
/// kInvalidArgument for names that no node has, and when a subgraph holds no node.
Result<std::vector<bool>> chosen_nodes(const ir::Graph& graph, const pass::ConversionOptions& options);

}  // namespace quarkq::rewrite
