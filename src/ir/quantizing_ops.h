// SPDX-License-Identifier: MIT
// The table of quantizing operators, by name, for readers of quantized models. The domain is not compared, because
// ai.onnx, com.microsoft and the custom domains use the same names with the same meaning.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

namespace quarkq::ir {

/// Domains of operators other than ai.onnx. com.amd.quark contains ExtendedQuantizeLinear and the block formats; files
/// from before 0.8 use com.vai.quantize instead. com.microsoft contains ONNX Runtime's forms of QuantizeLinear.
inline constexpr const char kQuarkDomain[] = "com.amd.quark", kVitisDomain[] = "com.vai.quantize",
                            kMicrosoftDomain[] = "com.microsoft";

/// How a node processes a tensor.
enum class QuantizingPart : uint8_t {
  kNone,
  kQuantize,    ///< Input 0 is converted to integers.
  kDequantize,  ///< Integers are converted to output 0.
  kBoth,        ///< A block format: input 0 is rounded to it.
  kProduct,     ///< Computes with integers, including stored weights.
};

/// Operators of one family are counterparts.
enum class QuantizingFamily : uint8_t {
  kOther,
  kStandard,  ///< QuantizeLinear and DequantizeLinear of any domain; the reference calls them standard.
  kExtended,  ///< ExtendedQuantizeLinear and ExtendedDequantizeLinear.
};

/// Indices of the inputs for weights (of a kProduct) and parameters.
struct QuantizingInputs {
  size_t values = 0, scale = 1, zero_point = 2;
  int64_t axis = 1;  ///< Default of the channel axis.
};
constexpr size_t kNoInput = ~size_t{0};
constexpr QuantizingInputs kNoWeights = {kNoInput, kNoInput, kNoInput};

struct QuantizingOp {
  std::string_view op;
  QuantizingPart part;
  QuantizingInputs inputs = {};
  QuantizingFamily family = QuantizingFamily::kOther;
};

// QLinear... and the last rows are operators of com.microsoft, which ONNX Runtime creates from Q/DQ pairs and dynamic
// quantization. Vitis... and ...FixNeuron are the names of com.vai.quantize in files from before 0.8 for operators of
// com.amd.quark.
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
    {"MatMulNBits", QuantizingPart::kProduct, {1, kNoInput, kNoInput}},  // One scale per block.
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

/// Returns the operator's row, or null.
constexpr const QuantizingOp* find_quantizing_op(std::string_view op) {
  for (const QuantizingOp& row : kQuantizingOps) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

constexpr QuantizingPart quantizing_part(std::string_view op) {
  // A separate loop, because GCC 12 with -fsanitize=undefined cannot compare pointers into the table in a constant
  // expression.
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

/// Returns the part of a node, or nullopt for null.
inline QuantizingPart quantizing_part(const Node* node) {
  return node == nullptr ? QuantizingPart::kNone : quantizing_part(node->op);
}

/// QuantizeLinear or DequantizeLinear of any domain, which the reference calls standard.
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

/// Returns the node that computes input `i`, or null.
inline const ir::Node* source_of(const ir::Graph& graph, const ir::Node& node, size_t i) {
  return node.input(i).valid() ? graph.producer(node.input(i)) : nullptr;
}

/// Returns true for an extended Q or DQ with a stored bfloat16 zero point.
inline bool has_bf16_zero_point(const ir::Graph& graph, const ir::Node& node) {
  if ((!is_extended_q(node) && !is_extended_dq(node)) || !node.input(2).valid()) return false;
  const ir::Tensor* zero_point = graph.constant(node.input(2));
  return zero_point != nullptr && zero_point->type() == ElementType::kBFloat16;
}

}  // namespace quarkq::ir
