// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// Multiply-accumulates of Conv, ConvTranspose, Gemm and MatMul for one sample; 0 for other operators. A dimension that
/// is not known counts as 1.
double macs_of(const Graph& graph, const Node& node);

/// Of all nodes.
double macs_of(const Graph& graph);

/// Returns the number of nodes whose multiply-accumulates macs_of() underestimates: a dimension of their output, in
/// addition to the first one, is not known.
size_t count_unsized_macs(const Graph& graph);

/// The share of `nodes` in the multiply-accumulates of the graph, 0 to 1.
double mac_share(const Graph& graph, const std::set<NodeId>& nodes);

// Tensors that only Softmax reads, directly or through operators that add, choose or move values.

/// How a reader treats the tensor that it reads at one input.
enum class FeedKind : uint8_t {
  kNone,     ///< it does something else with it
  kSoftmax,  ///< only how far values lie below the largest one of their row counts
  kMoves,    ///< values come out as they are, or not at all
  kAdds,     ///< other values are added
  kScales,   ///< values are multiplied by a positive constant
};
FeedKind feed_kind(const Graph& graph, const Node& node, int32_t input);
/// The factor of kScales; 1 for every other kind.
float feed_factor(const Graph& graph, const Node& node, int32_t input);

/// By value id: every reader is a Softmax, or an operator whose outputs are such tensors.
std::vector<bool> feeds_softmax_only(const Graph& graph);

/// By value id: every reader is a Sub that subtracts it from such a tensor. `only_softmax`: feeds_softmax_only().
std::vector<bool> subtracted_before_softmax(const Graph& graph, const std::vector<bool>& only_softmax);

}  // namespace quarkq::ir
