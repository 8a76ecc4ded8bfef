// SPDX-License-Identifier: MIT
// What operators on integers read: codes with one scale and zero point, or one for each channel, and biases in int32.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "pass/pass_info.h"

namespace quarkq::qdq {

/// Codes with their parameters, as a Q or DQ node has them.
struct Operand {
  ir::ValueId codes, scale, zero_point;
  ElementType type = ElementType::kUndefined;
  std::vector<float> scales = {};         ///< one, or one for each index of `axis`
  std::vector<int64_t> zero_points = {};  ///< as many
  int64_t axis = 0;
};

/// The operand that a DQ node dequantizes, or a Q node makes; a zero point that the node leaves out is made. Nothing
/// when scale or zero point is not stored, or when there is one for each block.
std::optional<Operand> operand_of(ir::Graph& graph, ir::NodeId node);

/// Same type, scales and zero points.
bool agrees(const Operand& a, const Operand& b);

/// A bias as float64: of a DQ of stored integers (`dq`, then exact), or of a stored float tensor. Nothing for others.
std::optional<std::vector<double>> bias_values(const ir::Model& model, ir::ValueId bias);

/// The codes of a bias in int32: value / scale, rounded to nearest, ties to even. `scales`: one, or one for each value.
/// An error when a code does not fit.
Result<ir::Tensor> encode_bias(const std::vector<double>& values, const std::vector<double>& scales);

// Biases of quantized layers in int32, in steps of the product of the scales of input and weights.

/// The layers whose third input is a bias in steps of that product.
bool has_integer_bias(const ir::Node& node);

/// Stores the bias of the layer anew in int32, from the values that it has now and the scales that input and weights
/// have now. False where the layer has no quantized bias; with a reason (`context.leave`) where it cannot be stored so.
Result<bool> store_bias_in_int32(pass::ConvertContext& context, ir::NodeId layer);

}  // namespace quarkq::qdq
