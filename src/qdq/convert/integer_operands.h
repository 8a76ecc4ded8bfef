// SPDX-License-Identifier: MIT
// Operands of integer operators: codes with one scale and zero point, or one per channel, and biases in int32.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "pass/pass_info.h"

namespace quarkq::qdq {

/// Codes with the parameters of a Q or DQ node.
struct Operand {
  ir::ValueId codes, scale, zero_point;
  ElementType type = ElementType::kUndefined;
  std::vector<float> scales = {};         ///< One, or one per index of `axis`.
  std::vector<int64_t> zero_points = {};  ///< One per scale.
  int64_t axis = 0;
};

/// Returns the operand that a DQ node dequantizes or a Q node computes. Creates an omitted zero point. Returns nullopt
/// if scale or zero point is not stored, or if there is one per block.
std::optional<Operand> operand_of(ir::Graph& graph, ir::NodeId node);

/// Returns whether type, scales and zero points are equal.
bool agrees(const Operand& a, const Operand& b);

/// Returns a bias as float64: from a DQ of stored integers (`dq`; then exact) or from a stored float tensor. Returns
/// nullopt otherwise.
std::optional<std::vector<double>> bias_values(const ir::Model& model, ir::ValueId bias);

/// Returns the int32 codes of a bias: value / scale, rounded to nearest, ties to even. `scales` has one entry, or one
/// per value. Fails if a code does not fit.
Result<ir::Tensor> encode_bias(const std::vector<double>& values, const std::vector<double>& scales);

// Biases of quantized layers in int32, in steps of the product of the scales of input and weights.

/// Returns whether the third input of the layer is a bias in steps of that product.
bool has_integer_bias(const ir::Node& node);

/// Stores the bias of the layer in int32 again, from its current values and the current scales of input and weights.
/// Returns false if the layer has no quantized bias, and false with a reason (`context.leave`) if the bias cannot be
/// stored.
Result<bool> store_bias_in_int32(pass::ConvertContext& context, ir::NodeId layer);

}  // namespace quarkq::qdq
