// SPDX-License-Identifier: MIT
// Biases of quantized layers in int32, in steps of the product of the scales of input and weights.
#pragma once

#include "pass/conversion.h"

namespace quarkq::qdq {

/// The layers whose third input is a bias in steps of that product.
bool has_integer_bias(const ir::Node& node);

/// Stores the bias of the layer anew in int32, from the values that it has now and the scales that input and weights
/// have now. False where the layer has no quantized bias; with a reason (`context.leave`) where it cannot be stored so.
Result<bool> store_bias_in_int32(pass::ConvertContext& context, ir::NodeId layer);

}  // namespace quarkq::qdq
