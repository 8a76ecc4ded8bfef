// SPDX-License-Identifier: MIT
// Nodes and initializers of matrices in few bits: MatMulNBits of com.microsoft, or DequantizeLinear with blocks.
#pragma once

#include <vector>

#include "config/low_bit_weights.h"
#include "ir/edit.h"
#include "qdq/write/nbits_blocks.h"
#include "qdq/write/nbits_matrices.h"

namespace quarkq::qdq {

/// A matrix in few bits and how it is stored.
struct PackedMatrix {
  NBitsShape shape;
  PackedNBits weight;
  bool has_zeros = false, zeros_are_real = false;
  bool scales_are_matrix = false;  ///< [columns, blocks] instead of one axis, as the reference stores GPTQ.
};

/// Returns "_Q4" for matrices that are stored in 4 bits.
std::string nbits_suffix(const NBitsShape& shape);

class NBitsWriter {
 public:
  NBitsWriter(ir::Graph& graph, const config::MatMulNBitsSettings& options)
      : graph_(graph), edit_(graph), options_(options) {}

  /// Adds the initializers of the matrix, and replaces every MatMul in `nodes`, which reads `weight`.
  void write(ir::ValueId weight, const PackedMatrix& packed, const std::vector<ir::NodeId>& nodes);

  /// Initializers of a matrix: codes, scales and zero points if there are any.
  std::vector<ir::ValueId> store(ir::ValueId weight, const PackedMatrix& packed);
  /// Replaces every MatMul in `nodes` by MatMulNBits, which reads what store() returned.
  void write_products(const std::vector<ir::ValueId>& stored, const NBitsShape& shape,
                      const std::vector<ir::NodeId>& nodes);

 private:
  void write_qdq(ir::ValueId weight, const PackedMatrix& packed, const std::vector<ir::NodeId>& nodes);

  const ir::Graph& graph_;
  ir::GraphEdit edit_;
  const config::MatMulNBitsSettings& options_;
};

/// Rounds the matrices by GPTQ on the samples; one result per matrix. Fails without samples and for groups that
/// MatMulNBits does not support.
Result<std::vector<PackedMatrix>> pack_with_gptq(pass::QdqContext& context, const std::vector<LowBitMatrix>& matrices);

}  // namespace quarkq::qdq
