// SPDX-License-Identifier: MIT
// Regions: the parts that a compiler would build, and the nodes of its report. Linear in nodes and links.
#pragma once

#include <string>
#include <vector>

#include "config/targets/target.h"
#include "quarkq/check.h"
#include "targets/quantized_view.h"

namespace quarkq::targets {

/// Q/DQ nodes by the operator that they feed or follow; those at inputs and outputs of the graph belong to none.
struct PairCounts {
  std::vector<size_t> of;  ///< by node id
  size_t at_edges = 0;
};
PairCounts count_pairs(const QuantizedView& view);

/// What regions are measured by; the same for every placement.
struct NodeCosts {
  std::vector<double> macs;  ///< by node id, of operators
  PairCounts pairs;
};
NodeCosts node_costs(const QuantizedView& view);

/// What regions are made of, by node id.
struct Placed {
  std::vector<bool> runs;
  std::vector<bool> lacks_anchor;  ///< would run, but the compiler takes no model without an anchor
  std::vector<int> region;         ///< -1: none
};

struct RegionPlan {
  Placed placed;
  std::vector<TargetRegion> regions;
  TargetCounts counts;
};

/// `runs`: by node id. Regions as ADR 0010 defines them: connected parts of nodes of one level.
RegionPlan plan_regions(const QuantizedView& view, const Groups& groups, const NodeCosts& costs, std::vector<bool> runs,
                        const config::Target& target);

/// Name of the node, or of its first output.
std::string name_of(const QuantizedView& view, ir::NodeId id);

}  // namespace quarkq::targets
