// SPDX-License-Identifier: MIT
// Gemm as MatMul and Add, for the emitters that know only MatMul.
#pragma once

#include "ir/graph.h"

namespace quarkq::qdq {

/// A Gemm x W + b with a stored matrix of floats: nothing is scaled, and x is not transposed.
bool is_plain_gemm(const ir::Graph& graph, const ir::Node& node);

/// Replaces a plain Gemm by a MatMul, and an Add when it has a bias; a transposed W is stored the other way round. The
/// new nodes stand where it stood and keep its origins.
void split_gemm(ir::Graph& graph, ir::NodeId id);

}  // namespace quarkq::qdq
