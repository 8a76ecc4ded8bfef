// SPDX-License-Identifier: MIT
// Conversion between ai.onnx opsets: runs the onnx library's converter on a skeleton, and repairs its errors.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Returns `model` converted to ai.onnx opset `target`. Preserves names, metadata, node origins and weights (whose
/// buffers are shared); nodes that the converter adds get the origins of the nodes they replace. The result has passed
/// the checker. Fails with kUnsupported if an operator cannot be converted or the result is not valid.
Result<ir::Model> convert_opset(const ir::Model& model, int64_t target);

}  // namespace quarkq::onnx_io
