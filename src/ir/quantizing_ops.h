// SPDX-License-Identifier: MIT
// The operators that quantize, by name: THE table for readers of quantized models. By name alone, because ai.onnx,
// com.microsoft and the custom domains use the same names for the same things.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

namespace quarkq::ir {

/// Domains of operators beside ai.onnx. com.amd.quark has ExtendedQuantizeLinear and the block formats; files of before
/// 0.8 say com.vai.quantize for it. com.microsoft has ONNX Runtime's forms of QuantizeLinear.
inline constexpr const char kQuarkDomain[] = "com.amd.quark", kVitisDomain[] = "com.vai.quantize",
                            kMicrosoftDomain[] = "com.microsoft";

/// What a node does with a tensor.
enum class QuantizingPart : uint8_t {
  kNone,
  kQuantize,    ///< input 0 becomes integers
  kDequantize,  ///< integers become output 0
  kBoth,        ///< a block format: input 0 is rounded to it
  kProduct,     ///< computes with integers, stored weights among them
};

/// Operators of one family are each other's counterpart.
enum class QuantizingFamily : uint8_t {
  kOther,
  kStandard,  ///< QuantizeLinear and DequantizeLinear, of any domain: what the reference calls standard
  kExtended,  ///< ExtendedQuantizeLinear and ExtendedDequantizeLinear
};

/// Where a node finds weights (of a kProduct) and parameters: numbers of inputs.
struct QuantizingInputs {
  size_t values = 0, scale = 1, zero_point = 2;
  int64_t axis = 1;  ///< of the channels when the node does not say
};
constexpr size_t kNoInput = ~size_t{0};
constexpr QuantizingInputs kNoWeights = {kNoInput, kNoInput, kNoInput};

struct QuantizingOp {
  std::string_view op;
  QuantizingPart part;
  QuantizingInputs inputs = {};
  QuantizingFamily family = QuantizingFamily::kOther;
};

// QLinear... and the last ones are com.microsoft's: what ONNX Runtime makes of Q/DQ pairs and of dynamic quantization.
// Vitis... and ...FixNeuron are the names of com.vai.quantize, which files of before 0.8 have for com.amd.quark's.
inline constexpr QuantizingOp kQuantizingOps[] = {
    {"QuantizeLinear", QuantizingPart::kQuantize, {}, QuantizingFamily::kStandard},
    {"ExtendedQuantizeLinear", QuantizingPart::kQuantize, {}, QuantizingFamily::kExtended},
    {"VitisQuantizeLinear", QuantizingPart::kQuantize},
    {"DynamicQuantizeLinear", QuantizingPart::kQuantize, {0, kNoInput, kNoInput}},
    {"DequantizeLinear", QuantizingPart::kDequantize, {}, QuantizingFamily::kStandard},
    {"ExtendedDequantizeLinear", QuantizingPart::kDequantize, {}, QuantizingFamily::kExtended},
    {"VitisDequantizeLinear", QuantizingPart::kDequantize},
    {"BFPQuantizeDequantize", QuantizingPart::kBoth},
    {"BFPFixNeuron", QuantizingPart::kBoth},
    {"MXQuantizeDequantize", QuantizingPart::kBoth},
    {"MXFixNeuron", QuantizingPart::kBoth},
    {"ConvInteger", QuantizingPart::kProduct, {1, kNoInput, 3}},
    {"MatMulInteger", QuantizingPart::kProduct, {1, kNoInput, 3}},
    {"MatMulNBits", QuantizingPart::kProduct, {1, kNoInput, kNoInput}},  // a scale for each block
    {"GatherBlockQuantized", QuantizingPart::kProduct, {0, kNoInput, kNoInput}},
    {"QLinearConv", QuantizingPart::kProduct, {3, 4, 5, 0}},
    {"QLinearMatMul", QuantizingPart::kProduct, {3, 4, 5}},
    {"QGemm", QuantizingPart::kProduct, {3, 4, 5}},
    {"QLinearAdd", QuantizingPart::kProduct, {3, 4, 5}},
    {"QLinearMul", QuantizingPart::kProduct, {3, 4, 5}},
    {"QLinearAveragePool", QuantizingPart::kProduct, kNoWeights},
    {"QLinearConcat", QuantizingPart::kProduct, kNoWeights},
    {"QLinearGlobalAveragePool", QuantizingPart::kProduct, kNoWeights},
    {"QLinearLeakyRelu", QuantizingPart::kProduct, kNoWeights},
    {"QLinearReduceMean", QuantizingPart::kProduct, kNoWeights},
    {"QLinearSigmoid", QuantizingPart::kProduct, kNoWeights},
    {"QLinearSoftmax", QuantizingPart::kProduct, kNoWeights},
    {"QLinearWhere", QuantizingPart::kProduct, kNoWeights},
    {"DynamicQuantizeMatMul", QuantizingPart::kProduct, {1, 2, 3}},
    {"MatMulIntegerToFloat", QuantizingPart::kProduct, {1, 3, 5}},
    {"DynamicQuantizeLSTM", QuantizingPart::kProduct, {1, 8, 9}},
    {"QAttention", QuantizingPart::kProduct, {1, 4, 7}},
    {"QEmbedLayerNormalization", QuantizingPart::kProduct, {2, 8, 13}},
};

/// The operator's row, or null.
constexpr const QuantizingOp* find_quantizing_op(std::string_view op) {
  for (const QuantizingOp& row : kQuantizingOps) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

constexpr QuantizingPart quantizing_part(std::string_view op) {
  // A loop of its own: GCC 12 with -fsanitize=undefined compares no pointer into the table in a constant expression.
  for (const QuantizingOp& row : kQuantizingOps) {
    if (row.op == op) return row.part;
  }
  return QuantizingPart::kNone;
}

constexpr bool is_quantizing_op(std::string_view op, QuantizingPart part, QuantizingFamily family) {
  for (const QuantizingOp& row : kQuantizingOps) {
    if (row.op == op) return row.part == part && row.family == family;
  }
  return false;
}

/// Of a node; nothing for null.
inline QuantizingPart quantizing_part(const Node* node) {
  return node == nullptr ? QuantizingPart::kNone : quantizing_part(node->op);
}

// What Q and DQ nodes look like, whatever their domain; which operators those are says ir/quantizing_ops.h.

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
