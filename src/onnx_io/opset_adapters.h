// SPDX-License-Identifier: MIT
// Conversion of single nodes between ai.onnx opsets, before the onnx library's converter sees the model. That one lacks
// adapters for most operators downwards, reads optional inputs that are absent, and misreads stored axes. So every node
// that means the same in both opsets, and every node that a row of the table here converts, is hidden from it.
// Private to src/onnx_io.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Converts what needs no library and hides it, nodes of nested graphs too. Returns true if nodes are left for the
/// library. kUnsupported, naming the node: opset `to` cannot express it, or the library's adapter would fail on it.
/// REQUIRES: `model` holds what inference found, and passed the checker.
Result<bool> adapt_nodes(onnx::ModelProto& model, int64_t from, int64_t to);

/// Makes hidden nodes of `graph` visible again.
void reveal_nodes(onnx::GraphProto& graph);

}  // namespace quarkq::onnx_io
