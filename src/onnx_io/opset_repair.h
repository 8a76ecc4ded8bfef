// SPDX-License-Identifier: MIT
// What the onnx library's opset converter leaves wrong, put right on its result. Private to src/onnx_io.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Resize after a conversion from opset `from` to `to` (both of ai.onnx): coordinates of Upsample and of Resize-10 are
/// kept, and empty roi and scales tensors become absent inputs where the opset knows absent ones.
void repair_resize(ir::Graph& graph, int64_t from, int64_t to);

}  // namespace quarkq::onnx_io
