// SPDX-License-Identifier: MIT
// QuantizedView: a model as a compiler sees it, with operators connected through Q/DQ. Built once, in linear time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::targets {

/// Role of a node for the compiler.
enum class NodeKind : uint8_t { kOperator, kQuantize, kDequantize, kConstant };

/// Scale and zero point of a Q or DQ, if both are constants.
struct Parameters {
  ir::NodeId node;
  const ir::Tensor* scale = nullptr;
  const ir::Tensor* zero_point = nullptr;  ///< Null means 0.
  bool is_stored = false;                  ///< The tensor is a constant: a weight or a bias.
  ElementType type = ElementType::kUndefined;
};

struct QuantizedView {
  const ir::Model* model = nullptr;
  std::vector<ir::NodeId> order;      ///< Execution order.
  std::vector<NodeKind> kinds;        ///< Indexed by node id.
  std::vector<ir::NodeId> operators;  ///< In execution order.
  /// Indexed by node id: operators whose results this operator reads, directly or through Q/DQ, and its readers.
  std::vector<std::vector<ir::NodeId>> sources, readers;
  std::vector<bool> has_conv_before, has_conv_after;  ///< Indexed by node id.
  std::vector<Parameters> parameters;                 ///< Parameters of all Q and DQ with constant scales, in execution
                                                      ///< order.
  bool has_pairs = false;                             ///< The model contains Q/DQ.

  const ir::Graph& graph() const { return model->graph; }
  const ir::Node& node(ir::NodeId id) const { return model->graph.node(id); }
  NodeKind kind(ir::NodeId id) const { return kinds[static_cast<size_t>(id.index)]; }
  const std::vector<ir::NodeId>& sources_of(ir::NodeId id) const { return sources[static_cast<size_t>(id.index)]; }
  const std::vector<ir::NodeId>& readers_of(ir::NodeId id) const { return readers[static_cast<size_t>(id.index)]; }

  /// Returns the value before the Q/DQ through which `value` passes.
  ir::ValueId before_pairs(ir::ValueId value) const;
  /// Returns the stored tensor before the Q/DQ of the value, or null if it is computed.
  const ir::Tensor* stored(ir::ValueId value) const;
  /// Returns whether a DQ or Q computes the value.
  bool is_from_pair(ir::ValueId value) const;
  /// Returns "Conv" or "com.microsoft::Gelu".
  std::string op_of(ir::NodeId id) const;
};

/// Fails on a cycle.
Result<QuantizedView> view_of(const ir::Model& model);

/// Returns "float", "xint8" (8 bits, powers of two), "a8w8", "a16w8" or "other".
std::string type_of_model(const QuantizedView& view);

/// Returns, by node id, whether an operator reads or writes activations of 16 bits.
std::vector<bool> wide_operators(const QuantizedView& view);

/// Returns whether every element is a power of two (and not 0).
bool is_power_of_two(const ir::Tensor& scale);

/// Groups: operators that a compiler places together because there is no Q/DQ between them, and the operators of a
/// quantized model that were left float.
struct Groups {
  std::vector<int> of;  ///< Number of the group by node id; -1 for nodes that are not operators.
  std::vector<std::vector<ir::NodeId>> members;  ///< In execution order.
  std::vector<bool> is_float;                    ///< Whether an operator of a quantized model was left float, by node
                                                 ///< id.
  std::vector<bool> is_integer;                  ///< Whether a node computes integers from integers (shapes, indices),
                                                 ///< by node id.

  const std::vector<ir::NodeId>& group_of(ir::NodeId id) const {
    return members[static_cast<size_t>(of[static_cast<size_t>(id.index)])];
  }
  bool left_float(ir::NodeId id) const { return is_float[static_cast<size_t>(id.index)]; }
  bool integer(ir::NodeId id) const { return is_integer[static_cast<size_t>(id.index)]; }
};

/// Forms the groups. In a model with Q/DQ: chains of a few operators from DQ to Q (Conv and Relu, HardSigmoid and the
/// Mul that rescales it). In a float model judged as if quantized: an operator and the Relu or Clip that is its only
/// reader, which a quantizer would join.
Groups group_operators(const QuantizedView& view, bool as_if_quantized);

}  // namespace quarkq::targets
