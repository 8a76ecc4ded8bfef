// SPDX-License-Identifier: MIT
// Tensors that only Softmax reads, directly or through operators that add, choose or move values.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

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
