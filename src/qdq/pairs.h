// SPDX-License-Identifier: MIT
// Q and DQ nodes of written models, whatever tool wrote them.
#pragma once

#include <optional>
#include <vector>

#include "ir/edit.h"
#include "ir/graph.h"
#include "ir/quantizing_ops.h"
#include "numeric/quant_params.h"

namespace quarkq::qdq {

// The Relu or Clip that the range of a Q/DQ pair may have replaced: it comes back where pairs go.

/// What a pair does to its tensor, which has one scale and zero point.
struct PairRange {
  ElementType type = ElementType::kUndefined;
  float scale = 1;
  int64_t zero_point = 0;
};

/// Whether the range begins at 0 after an operator whose results have both signs, so that it may be a clamp.
bool may_clamp(const ir::Graph& graph, ir::ValueId value, const PairRange& range);

/// Puts a Relu after the value's producer, or a Clip to 6 where the range ends there, when may_clamp(). One that was
/// not there before changes nothing of what the model with the pair computes.
void restore_clamp(ir::Model& model, ir::ValueId value, const PairRange& range);

/// com.vai.quantize's names are those of older files for the same things.
inline bool quantizes(const ir::Node& node) { return ir::is_q(node) || node.op == "VitisQuantizeLinear"; }
inline bool dequantizes(const ir::Node& node) { return ir::is_dq(node) || node.op == "VitisDequantizeLinear"; }

/// The Q that makes what the DQ reads, or null: integers that are stored, fed or computed.
const ir::Node* quantizer_of(const ir::Graph& graph, const ir::Node& dq);

/// A Q with everything that reads its integers, which are DQ nodes: what becomes another type changes together.
struct Activation {
  ir::NodeId quantizer;
  std::vector<ir::NodeId> dequantizers;
};

/// The activations of the graph in node order: stored tensors are not among them, nor a Q whose integers something else
/// reads or whose scale or zero point is computed.
std::vector<Activation> activations(const ir::Graph& graph);

/// The type of the integers that a Q makes or a DQ reads: that of the zero point, otherwise output_dtype of a Q, the
/// type of the integers or that of the Q which makes them, and uint8 where the model specifies none.
ElementType code_type(const ir::Graph& graph, const ir::Node& node);

/// The zero point of a Q or DQ as it is stored; for one without, zeros of its code_type() in the shape of the scale.
/// Returns nullopt if it is computed.
std::optional<ir::Tensor> zero_point_of(const ir::Graph& graph, const ir::Node& node);

/// What the Q does to its tensor; nothing where it has several scales or they are computed.
std::optional<PairRange> range_of(const ir::Graph& graph, const ir::Node& q);

/// Readers of the node's only output read `instead`. A graph output keeps its name; where `instead` cannot take it, an
/// Identity is left.
void bypass(ir::Graph& graph, ir::NodeId node, ir::ValueId instead);

/// Input `input` of the node becomes `value`; the next one after its last is added. REQUIRES: input <= their number.
void put_input(ir::GraphEdit& edit, const ir::Node& node, size_t input, ir::ValueId value);

/// Removes Q nodes whose integers nothing reads.
void remove_unread_quantizers(ir::Graph& graph);

/// The float constant that a DQ of stored integers makes, per channel and per block as well. An error names the node.
Result<ir::Tensor> dequantized(const ir::Model& model, const ir::Node& dq);

}  // namespace quarkq::qdq
