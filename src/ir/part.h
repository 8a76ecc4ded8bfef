// SPDX-License-Identifier: MIT
// A part of a graph as a graph of its own, so that what runs it has costs of the part and not of the whole.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

struct Part {
  Graph graph;
  std::vector<ValueId> feeds, fetches;  ///< those that were asked for, in `graph`
};

/// The nodes that compute `fetches` from `feeds` and constants; weights are shared. Values that are neither computed
/// nor constant become inputs, after the feeds.
Part part_of(const Graph& whole, const std::vector<ValueId>& feeds, const std::vector<ValueId>& fetches);

}  // namespace quarkq::ir
