// SPDX-License-Identifier: MIT
// The invariants of ir::Graph, for the runner, which asks after every pass, and for tests. A violation is our own bug,
// never a file's.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace quarkq::ir {

/// kInternal, naming node or value, when links disagree, names clash, lists and flags differ, the order is no
/// permutation of the live nodes, something is read that nothing defines, or a nested graph reads what its node
/// does not capture.
Status verify(const Graph& graph);

// Checks attributes and stored lists that name dimensions or count something against the limits of a tensor.

/// Fails on the first node, in nested graphs too, with an axis, a permutation or a count that no tensor can have, or
/// that the rank of its input (where that is known) does not have. Of operators of ai.onnx, com.microsoft and
/// com.amd.quark; others are not checked. The message names node, attribute, what was found and what is allowed.
/// What passes may still contradict a rank that is known later; code that then indexes with it uses ir/shape.h.
Status check_attributes(const Graph& graph, const std::map<std::string, int64_t>& opsets);

}  // namespace quarkq::ir
