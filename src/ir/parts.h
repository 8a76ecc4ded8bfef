// SPDX-License-Identifier: MIT
// Extraction of a part of a graph as a graph of its own, so that running it costs only the part.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

struct Part {
  Graph graph;
  std::vector<ValueId> feeds, fetches;  ///< The requested values, as ids in `graph`.
};

/// Returns the nodes that compute `fetches` from `feeds` and constants. Weights are shared. Values that are neither
/// computed nor constant become inputs after the feeds.
Part part_of(const Graph& whole, const std::vector<ValueId>& feeds, const std::vector<ValueId>& fetches);

/// The tail of a network: nodes after the last layers, such as the selection of boxes (ref:targets).
struct Tail {
  std::set<NodeId> nodes;
  std::vector<ValueId> inputs;  ///< Values that are read in the tail, computed before it and not constant, in the order
                                ///< of their readers.
};

/// Returns true for Conv, ConvTranspose, Gemm, MatMul and recurrent operators of ai.onnx.
bool has_layer_op(const Node& node);

/// Returns the nodes from which no layer is reachable. Layers are nodes with has_layer_op() and stored weights, except
/// a Conv to one channel that only weighs bins (distribution focal loss). Activations and biases that read only the
/// preceding layer belong to the layer. Returns an empty tail if the graph has no layer.
Tail find_ending(const Graph& graph);

/// Returns whether the tail contains Concat, Split, Slice, Gather, TopK, NonMaxSuppression, NonZero or Exp.
bool decodes(const Graph& graph, const Tail& tail);

/// Returns find_ending() if it decodes, and an empty tail otherwise: a Softmax after a classifier decodes nothing.
Tail find_tail(const Graph& graph);

/// Returns the nodes of `ending` among `nodes` and after them.
Tail part_from(const Graph& graph, const Tail& ending, const std::set<NodeId>& nodes);

/// Islands: connected parts of a graph that run in another format than the nodes around them. NPU compilers cut a model
/// at each border of an island, so a small number is desirable (ref:targets).
struct IslandLimits {
  size_t most = 0;               ///< Upper bound on the number of islands; 0: no bound, and no node is added to connect
                                 ///< islands.
  double mac_share = 1;          ///< Upper bound on their share of the graph's multiply-accumulates, 0 to 1.
  std::set<NodeId> barred = {};  ///< Nodes that no island may contain.
};

/// A growing set of nodes within limits. If their number is limited, islands have no holes: a node on a path between
/// two of its nodes belongs to the island. The result depends only on the graph and the order of calls.
class Islands {
 public:
  /// `graph` must outlive this and not change.
  Islands(const Graph& graph, const IslandLimits& limits);

  /// Adds `nodes`, and if the number of islands is limited also the nodes that connect them. To connect two islands, it
  /// chooses the path with the fewest multiply-accumulates, then the fewest nodes. Returns false and changes nothing if
  /// a limit would be exceeded.
  bool add(const std::set<NodeId>& nodes);

  const std::set<NodeId>& nodes() const { return nodes_; }
  /// Returns all nodes in the order in which they were added; earlier calls determine a prefix.
  const std::vector<NodeId>& joined() const { return joined_; }
  /// Returns the number of connected parts.
  size_t count() const;
  /// Returns the share of the graph's multiply-accumulates, 0 to 1.
  double mac_share() const { return share_of(mask_); }

 private:
  using Mask = std::vector<uint8_t>;  ///< Indexed by position in the node order.
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
