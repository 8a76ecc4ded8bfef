// SPDX-License-Identifier: MIT
// Regions: the parts that a compiler would build, and the nodes of its report. Linear in nodes and links.
#pragma once

#include <string>
#include <vector>

#include "config/targets/target.h"
#include "quarkq/check.h"
#include "targets/quantized_view.h"

namespace quarkq::targets {

/// Q/DQ nodes by the operator that they precede or follow. Q/DQ nodes at inputs and outputs of the graph are not
/// assigned to an operator.
struct PairCounts {
  std::vector<size_t> of;  ///< Indexed by node id.
  size_t at_edges = 0;
};
PairCounts count_pairs(const QuantizedView& view);

/// Costs of nodes, independent of the placement.
struct NodeCosts {
  std::vector<double> macs;  ///< Multiply-accumulates of operators, indexed by node id.
  PairCounts pairs;
};
NodeCosts node_costs(const QuantizedView& view);

/// Placement of nodes, indexed by node id.
struct Placed {
  std::vector<bool> runs;
  std::vector<bool> lacks_anchor;  ///< Would run, but the compiler does not accept a model without an anchor.
  std::vector<int> region;         ///< -1 for none.
};

struct RegionPlan {
  Placed placed;
  std::vector<TargetRegion> regions;
  TargetCounts counts;
};

/// Computes the regions of ADR 0010: connected parts of nodes of one level. `runs` is indexed by node id.
RegionPlan plan_regions(const QuantizedView& view, const Groups& groups, const NodeCosts& costs, std::vector<bool> runs,
                        const config::Target& target);

/// Returns the name of the node, or of its first output.
std::string name_of(const QuantizedView& view, ir::NodeId id);

}  // namespace quarkq::targets
