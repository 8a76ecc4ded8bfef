// SPDX-License-Identifier: MIT
// Islands: connected parts of a graph that run in another format than the nodes around them. Compilers for NPUs cut a
// model at each border of an island, so few of them are wanted (ref:targets).
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

struct IslandLimits {
  size_t most = 0;               ///< islands at most; 0: any number, and no node is added to connect others
  double mac_share = 1;          ///< of the multiply-accumulates of the graph that they may have, 0 to 1
  std::set<NodeId> barred = {};  ///< nodes that no island may hold
};

/// A growing set of nodes that keeps to limits. With a limit on their number islands have no holes: a node on a path
/// from one of its nodes to another belongs to the island. Depends on the graph and the order of calls alone.
class Islands {
 public:
  /// `graph` must outlive this and not change.
  Islands(const Graph& graph, const IslandLimits& limits);

  /// Takes `nodes`, and with a limit on the number of islands also the nodes that connect them: of the ways to connect
  /// two islands the one with the fewest multiply-accumulates, then the fewest nodes. When a limit cannot be kept,
  /// nothing changes and the result is false.
  bool add(const std::set<NodeId>& nodes);

  const std::set<NodeId>& nodes() const { return nodes_; }
  /// The same in the order in which they were taken in: what earlier calls took is the start of it.
  const std::vector<NodeId>& joined() const { return joined_; }
  /// Connected parts.
  size_t count() const;
  /// Share of the multiply-accumulates of the graph, 0 to 1.
  double mac_share() const { return share_of(mask_); }

 private:
  using Mask = std::vector<uint8_t>;  ///< by place in the node order
  using Edges = std::vector<std::vector<uint32_t>>;

  Mask reach(Mask from, const Edges& edges) const;
  Mask hull(const Mask& part) const;
  std::vector<Mask> parts(const Mask& mask) const;
  Mask connect(const Mask& a, const Mask& b) const;
  bool limit_count(Mask& mask) const;
  bool is_cheaper(const Mask& a, const Mask& b) const;
  double macs_of_mask(const Mask& mask) const;
  double share_of(const Mask& mask) const { return all_macs_ > 0 ? macs_of_mask(mask) / all_macs_ : 0; }

  IslandLimits limits_;
  std::vector<NodeId> order_;
  Edges readers_, sources_;
  std::vector<double> macs_;
  double all_macs_ = 0;
  Mask mask_;
  std::set<NodeId> nodes_;
  std::vector<NodeId> joined_;
};

}  // namespace quarkq::ir
