// SPDX-License-Identifier: MIT
// The operators that quantize, by name: THE table for readers of quantized models. By name alone, because ai.onnx,
// com.microsoft and the custom domains use the same names for the same things.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

namespace quarkq::ir {

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

}  // namespace quarkq::ir
