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

}  // namespace quarkq::targets
