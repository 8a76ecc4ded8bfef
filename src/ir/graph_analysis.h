// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// Returns the multiply-accumulates of Conv, ConvTranspose, Gemm and MatMul for one sample; 0 for other operators. An
/// unknown dimension counts as 1.
double macs_of(const Graph& graph, const Node& node);

/// Returns the sum over all nodes.
double macs_of(const Graph& graph);

/// Returns the number of nodes whose multiply-accumulates macs_of() underestimates: a dimension of their output, in
/// addition to the first one, is not known.
size_t count_unsized_macs(const Graph& graph);

/// Returns the share of `nodes` in the multiply-accumulates of the graph, 0 to 1.
double mac_share(const Graph& graph, const std::set<NodeId>& nodes);

// Tensors that only Softmax reads, directly or through operators that add, select or move values.

/// How a reader uses the tensor at one of its inputs.
enum class FeedKind : uint8_t {
  kNone,     ///< Any other use.
  kSoftmax,  ///< Only the distance of values from the largest value of their row matters.
  kMoves,    ///< Values pass unchanged or are dropped.
  kAdds,     ///< Other values are added.
  kScales,   ///< Values are multiplied by a positive constant.
};
FeedKind feed_kind(const Graph& graph, const Node& node, int32_t input);
/// Returns the factor of kScales; 1 for every other kind.
float feed_factor(const Graph& graph, const Node& node, int32_t input);

/// Returns, indexed by value id, whether every reader is a Softmax or an operator whose outputs have this property.
std::vector<bool> feeds_softmax_only(const Graph& graph);

/// Returns, indexed by value id, whether every reader is a Sub that subtracts the value from a tensor with
/// `only_softmax`, the result of feeds_softmax_only().
std::vector<bool> subtracted_before_softmax(const Graph& graph, const std::vector<bool>& only_softmax);

}  // namespace quarkq::ir
