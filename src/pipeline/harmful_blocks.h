// SPDX-License-Identifier: MIT
// Islands around the layers that cost the outputs most.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "pipeline/part_plans.h"
#include "quarkq/analyze.h"

namespace quarkq::pipeline {

struct BlockLimits {
  size_t most = 0;       ///< blocks
  double mac_share = 1;  ///< of each, of the multiply-accumulates of the graph
};

/// Connected sets of nodes without holes that do not overlap. Each grows from the most harmful layer that no block has,
/// by other harmful layers that are near. `worst_first`: layers in the order of their harm.
std::vector<Nodes> harmful_blocks(const ir::Graph& graph, const std::vector<ir::NodeId>& worst_first,
                                  const BlockLimits& limits);

/// `loaded`: the graph that settings name nodes of.
LayerBlock described(const Nodes& block, const ir::Graph& loaded, const ir::Graph& graph);

}  // namespace quarkq::pipeline
