// SPDX-License-Identifier: MIT
// The invariants of ir::Graph, checked by the runner after every pass, and by tests. A violation is a bug of quarkq,
// never a fault of a file.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace quarkq::ir {

/// Fails with kInternal, naming node or value, if links disagree, names clash, lists and flags differ, the order is not
/// a permutation of the live nodes, an undefined value is read, or a nested graph reads a value that its node does not
/// capture.
Status verify(const Graph& graph);

// Checks of attributes and stored lists that name dimensions or counts, against the limits of a tensor.

/// Fails on the first node, also in nested graphs, with an impossible axis, permutation or count, or with one that the
/// known rank of its input does not allow. Checks operators of ai.onnx, com.microsoft and com.amd.quark. The message
/// names node, attribute, the found and the allowed value. A rank that is known only later may still contradict a
/// checked value; code that then indexes with it uses ir/shape.h.
Status check_attributes(const Graph& graph, const std::map<std::string, int64_t>& opsets);

}  // namespace quarkq::ir
