// SPDX-License-Identifier: MIT
// The matrices and tables that UseMatMulNBits stores in few bits, with the format of each.
#pragma once

#include <string>
#include <vector>

#include "config/low_bit_weights.h"
#include "pass/context.h"
#include "pass/gptq/gptq.h"
#include "qdq/write/nbits_blocks.h"

namespace quarkq::qdq {

/// A stored matrix [depth, columns] and the MatMul nodes that read it.
struct LowBitMatrix {
  pass::GptqTarget target;
  std::vector<ir::NodeId> nodes;  ///< In node order.
  std::string name;               ///< Name of the initializer in the float model.
  bool is_head = false;
  config::NBitsFormat format;
  std::vector<float> row_scales, column_scales;  ///< Factors that scaled inputs require; empty: 1.

  NBitsShape shape(const ir::Graph& graph) const;
  /// Returns the stored values times row_scales and column_scales. REQUIRES: a float matrix.
  std::vector<float> scaled_values(const ir::Graph& graph) const;
};

/// Returns whether the result of `node` reaches an output of the graph through nothing but elementwise operators with
/// constants, casts and reshapes, as logits do.
bool reaches_output(const ir::Graph& graph, const ir::Node& node);

/// Returns the matrices of chosen MatMul nodes in node order, with the formats that MatMulNBitsParams specifies. Splits
/// the chosen Gemm nodes first.
std::vector<LowBitMatrix> find_matrices(pass::QdqContext& context, const config::MatMulNBitsSettings& options);

/// Returns whether the node is a Gemm x W + b with a stored float matrix, without scaling and without a transposed x.
bool is_plain_gemm(const ir::Graph& graph, const ir::Node& node);

/// Replaces a plain Gemm by a MatMul, and an Add if it has a bias. A transposed W is stored transposed again. The new
/// nodes take the Gemm's position and origins.
void split_gemm(ir::Graph& graph, ir::NodeId id);

}  // namespace quarkq::qdq
