// SPDX-License-Identifier: MIT
// Conversion of single nodes between ai.onnx opsets, before the onnx library's converter runs. The library's converter
// lacks adapters to lower opsets for most operators, reads omitted optional inputs, and misreads stored axes. Therefore
// nodes with the same meaning in both opsets, and nodes that a row of the table here converts, are hidden from it.
// Private to src/onnx_io.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Converts and hides all nodes that do not need the library, also in nested graphs. Returns true if nodes are left for
/// the library. Fails with kUnsupported, naming the node, if opset `to` cannot express it or the library's adapter
/// would fail on it. REQUIRES: `model` contains the results of inference and passed the checker.
Result<bool> adapt_nodes(onnx::ModelProto& model, int64_t from, int64_t to);

/// Makes hidden nodes of `graph` visible again.
void reveal_nodes(onnx::GraphProto& graph);

}  // namespace quarkq::onnx_io
