// SPDX-License-Identifier: MIT
#pragma once

#include <set>

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

}  // namespace quarkq::ir
