// SPDX-License-Identifier: MIT
// Conversion between ai.onnx opsets: the onnx library's converter, fed with a skeleton, and repairs of what it gets
// wrong.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace quarkq::onnx_io {

/// `model` at ai.onnx opset `target`. Names, metadata, node origins and weights stay (the weights' buffers are shared);
/// nodes that the converter adds get the origins of the nodes they serve. The result
/// has passed the checker. kUnsupported when an operator cannot be converted or the result is not valid.
Result<ir::Model> convert_opset(const ir::Model& model, int64_t target);

}  // namespace quarkq::onnx_io
