// SPDX-License-Identifier: MIT
// What Q and DQ nodes look like, whatever their domain; which operators those are says ir/quantizing_ops.h.
#pragma once

#include "ir/domains.h"
#include "ir/graph.h"
#include "ir/quantizing_ops.h"

namespace quarkq::ir {

/// QuantizeLinear or DequantizeLinear of any domain: what the reference calls standard.
inline bool is_standard_q(const ir::Node& node) {
  return is_quantizing_op(node.op, QuantizingPart::kQuantize, QuantizingFamily::kStandard);
}
inline bool is_standard_dq(const ir::Node& node) {
  return is_quantizing_op(node.op, QuantizingPart::kDequantize, QuantizingFamily::kStandard);
}
inline bool is_extended_q(const ir::Node& node) {
  return is_quantizing_op(node.op, QuantizingPart::kQuantize, QuantizingFamily::kExtended);
}
inline bool is_extended_dq(const ir::Node& node) {
  return is_quantizing_op(node.op, QuantizingPart::kDequantize, QuantizingFamily::kExtended);
}
inline bool is_q(const ir::Node& node) { return is_standard_q(node) || is_extended_q(node); }
inline bool is_dq(const ir::Node& node) { return is_standard_dq(node) || is_extended_dq(node); }

/// The node that makes input `i`, or null.
inline const ir::Node* source_of(const ir::Graph& graph, const ir::Node& node, size_t i) {
  return node.input(i).valid() ? graph.producer(node.input(i)) : nullptr;
}

/// An extended Q or DQ whose stored zero point is bfloat16.
inline bool has_bf16_zero_point(const ir::Graph& graph, const ir::Node& node) {
  if ((!is_extended_q(node) && !is_extended_dq(node)) || !node.input(2).valid()) return false;
  const ir::Tensor* zero_point = graph.constant(node.input(2));
  return zero_point != nullptr && zero_point->type() == ElementType::kBFloat16;
}

}  // namespace quarkq::ir
