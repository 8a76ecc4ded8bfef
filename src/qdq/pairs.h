// SPDX-License-Identifier: MIT
// Q and DQ nodes of written models, regardless of the tool that wrote them.
#pragma once

#include <optional>
#include <vector>

#include "ir/edit.h"
#include "ir/graph.h"
#include "ir/quantizing_ops.h"
#include "numeric/quant_params.h"

namespace quarkq::qdq {

// A Relu or Clip that the range of a Q/DQ pair may have replaced. It is restored when the pair is removed.

/// The effect of a pair with one scale and zero point on its tensor.
struct PairRange {
  ElementType type = ElementType::kUndefined;
  float scale = 1;
  int64_t zero_point = 0;
};

/// Returns whether the range begins at 0 after an operator whose results have both signs, so that it may be a clamp.
bool may_clamp(const ir::Graph& graph, ir::ValueId value, const PairRange& range);

/// If may_clamp(), inserts a Relu after the value's producer, or a Clip to 6 if the range ends there. If the operator
/// did not exist before, it does not change the outputs of the model with the pair.
void restore_clamp(ir::Model& model, ir::ValueId value, const PairRange& range);

/// Older files use the names of com.vai.quantize for the same operators.
inline bool quantizes(const ir::Node& node) { return ir::is_q(node) || node.op == "VitisQuantizeLinear"; }
inline bool dequantizes(const ir::Node& node) { return ir::is_dq(node) || node.op == "VitisDequantizeLinear"; }

/// Returns the Q that computes the input of the DQ, or null if the integers are stored, fed or computed otherwise.
const ir::Node* quantizer_of(const ir::Graph& graph, const ir::Node& dq);

/// A Q with all readers of its integers, which are DQ nodes. They change their type together.
struct Activation {
  ir::NodeId quantizer;
  std::vector<ir::NodeId> dequantizers;
};

/// Returns the activations of the graph in node order. Excludes stored tensors, and Q nodes with other readers of the
/// integers or with a computed scale or zero point.
std::vector<Activation> activations(const ir::Graph& graph);

/// Returns the type of the integers that a Q computes or a DQ reads: the type of the zero point, otherwise output_dtype
/// of a Q, the type of the integers or of the Q that computes them, and uint8 if the model specifies none.
ElementType code_type(const ir::Graph& graph, const ir::Node& node);

/// Returns the stored zero point of a Q or DQ. If the node has none, returns zeros of its code_type() in the shape of
/// the scale. Returns nullopt if it is computed.
std::optional<ir::Tensor> zero_point_of(const ir::Graph& graph, const ir::Node& node);

/// Returns the effect of the Q on its tensor, or nullopt if it has several scales or they are computed.
std::optional<PairRange> range_of(const ir::Graph& graph, const ir::Node& q);

/// Redirects readers of the node's only output to `instead`. A graph output keeps its name; if `instead` cannot take
/// the name, an Identity is added.
void bypass(ir::Graph& graph, ir::NodeId node, ir::ValueId instead);

/// Sets input `input` of the node to `value`, or appends it directly after the last input. REQUIRES: input <= number of
/// inputs.
void put_input(ir::GraphEdit& edit, const ir::Node& node, size_t input, ir::ValueId value);

/// Removes Q nodes whose integers are not read.
void remove_unread_quantizers(ir::Graph& graph);

/// Returns the float constant that a DQ of stored integers computes, also per channel and per block. An error names the
/// node.
Result<ir::Tensor> dequantized(const ir::Model& model, const ir::Node& dq);

}  // namespace quarkq::qdq
