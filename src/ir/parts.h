// SPDX-License-Identifier: MIT
// A part of a graph as a graph of its own, so that what runs it has costs of the part and not of the whole.
#pragma once

#include <cstdint>
#include <set>
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

/// The tail of a network: what detectors do after their last layers, decoding of boxes and choice of the best
/// (ref:targets).
struct Tail {
  std::set<NodeId> nodes;
  std::vector<ValueId> inputs;  ///< not constant, made before the tail and read in it, in the order of the readers
};

/// Conv, ConvTranspose, Gemm, MatMul and recurrent operators of ai.onnx.
bool has_layer_op(const Node& node);

/// The nodes from which no layer is reached any more. Layers are those of has_layer_op(), but for a Conv to one channel
/// that only weighs bins (distribution focal loss). Activations that only the layer before them feeds belong to the
/// layer. Empty where nothing is decoded, that is without Concat, Split, Slice, Gather, TopK, NonMaxSuppression,
/// NonZero or Exp: a Softmax after a classifier is no tail.
Tail find_tail(const Graph& graph);

/// Islands: connected parts of a graph that run in another format than the nodes around them. Compilers for NPUs cut a
/// model at each border of an island, so few of them are wanted (ref:targets).
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
