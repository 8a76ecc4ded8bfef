// SPDX-License-Identifier: MIT
// QuantizedView: a model as a compiler sees it, operators connected through Q/DQ. Built once, in linear time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::targets {

/// What a node is to the compiler.
enum class NodeKind : uint8_t { kOperator, kQuantize, kDequantize, kConstant };

/// Scale and zero point of a Q or DQ, where both are constants.
struct Parameters {
  ir::NodeId node;
  const ir::Tensor* scale = nullptr;
  const ir::Tensor* zero_point = nullptr;  ///< null: 0
  bool is_stored = false;                  ///< of a constant: a weight or a bias
  ElementType type = ElementType::kUndefined;
};

struct QuantizedView {
  const ir::Model* model = nullptr;
  std::vector<ir::NodeId> order;      ///< execution order
  std::vector<NodeKind> kinds;        ///< by node id
  std::vector<ir::NodeId> operators;  ///< in execution order
  /// By node id: operators whose results this operator reads, directly or through Q/DQ.
  std::vector<std::vector<ir::NodeId>> sources, readers;
  std::vector<bool> has_conv_before, has_conv_after;  ///< by node id
  std::vector<Parameters> parameters;                 ///< of all Q and DQ with constant scales, in execution order
  bool has_pairs = false;                             ///< there are Q/DQ

  const ir::Graph& graph() const { return model->graph; }
  const ir::Node& node(ir::NodeId id) const { return model->graph.node(id); }
  NodeKind kind(ir::NodeId id) const { return kinds[static_cast<size_t>(id.index)]; }
  const std::vector<ir::NodeId>& sources_of(ir::NodeId id) const { return sources[static_cast<size_t>(id.index)]; }
  const std::vector<ir::NodeId>& readers_of(ir::NodeId id) const { return readers[static_cast<size_t>(id.index)]; }

  /// The value in front of the Q/DQ that `value` passes through.
  ir::ValueId before_pairs(ir::ValueId value) const;
  /// The stored tensor in front of Q/DQ, or null when it is computed.
  const ir::Tensor* stored(ir::ValueId value) const;
  /// Whether some DQ or Q makes the value.
  bool is_from_pair(ir::ValueId value) const;
  /// "Conv", "com.microsoft::Gelu".
  std::string op_of(ir::NodeId id) const;
};

/// Fails on a cycle.
Result<QuantizedView> view_of(const ir::Model& model);

/// "float", "xint8" (8 bits, powers of two), "a8w8", "a16w8", or "other".
std::string type_of_model(const QuantizedView& view);

/// Whether every element is a power of two (and not 0).
bool is_power_of_two(const ir::Tensor& scale);

/// Groups: operators that a compiler places together, because no Q/DQ stands between them, and the operators of a
/// quantized model that were left float.
struct Groups {
  std::vector<int> of;  ///< by node id: number of the group, -1 for nodes that are no operators
  std::vector<std::vector<ir::NodeId>> members;  ///< in execution order
  std::vector<bool> is_float;                    ///< by node id: an operator of a quantized model that was left float
  std::vector<bool> is_integer;                  ///< by node id: computes integers from integers (shapes, indices)

  const std::vector<ir::NodeId>& group_of(ir::NodeId id) const {
    return members[static_cast<size_t>(of[static_cast<size_t>(id.index)])];
  }
  bool left_float(ir::NodeId id) const { return is_float[static_cast<size_t>(id.index)]; }
  bool integer(ir::NodeId id) const { return is_integer[static_cast<size_t>(id.index)]; }
};

/// In a model with Q/DQ: chains of a few operators from DQ to Q (Conv and Relu, HardSigmoid and the Mul that rescales
/// it). In a float model judged as if quantized: an operator and the Relu or Clip that alone reads it, which a
/// quantizer would join.
Groups group_operators(const QuantizedView& view, bool as_if_quantized);

}  // namespace quarkq::targets
