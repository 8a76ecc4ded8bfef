// SPDX-License-Identifier: MIT
// Shapes that cannot be computed with and that the onnx library's inference lets pass. Private to src/onnx_io.
#pragma once

#include "base/error.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Fails with kCorruptModel on the first node of the main graph whose known dimensions no run can multiply: products
/// of matrices, convolutions. The message names the node and both shapes. Graphs inside nodes may never run and are not
/// looked at. REQUIRES: `graph` holds what inference found.
Status check_shapes(const onnx::GraphProto& graph);

}  // namespace quarkq::onnx_io
