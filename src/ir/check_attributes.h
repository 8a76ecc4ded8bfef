// SPDX-License-Identifier: MIT
// Checks attributes and stored lists that name dimensions or count something against the limits of a tensor.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace quarkq::ir {

/// Fails on the first node, in nested graphs too, with an axis, a permutation or a count that no tensor can have, or
/// that the rank of its input (where that is known) does not have. Of operators of ai.onnx, com.microsoft and
/// com.amd.quark; others are not checked. The message names node, attribute, what was found and what is allowed.
/// What passes may still contradict a rank that is known later; code that then indexes with it uses ir/axes.h.
Status check_attributes(const Graph& graph, const std::map<std::string, int64_t>& opsets);

}  // namespace quarkq::ir
