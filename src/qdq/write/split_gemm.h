// SPDX-License-Identifier: MIT
// Replacement of Gemm by MatMul and Add, for the emitters that support only MatMul.
#pragma once

#include "ir/graph.h"

namespace quarkq::qdq {

/// Returns whether the node is a Gemm x W + b with a stored float matrix, without scaling and without a transposed x.
bool is_plain_gemm(const ir::Graph& graph, const ir::Node& node);

/// Replaces a plain Gemm by a MatMul, and an Add if it has a bias. A transposed W is stored transposed again. The new
/// nodes take the Gemm's position and origins.
void split_gemm(ir::Graph& graph, ir::NodeId id);

}  // namespace quarkq::qdq
