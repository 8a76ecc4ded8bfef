// SPDX-License-Identifier: MIT
// GraphProto to ir::Graph: values and nodes linked by name, nested graphs with what they capture. Everything a file can
// get wrong about names and links is found here. Private to src/onnx_io.
#pragma once

#include "base/diagnostics.h"
#include "ir/graph.h"
#include "onnx_io/external_data.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Where tensors read their data, and where findings about the file go.
struct ImportContext {
  ExternalFiles& external;
  Diagnostics& findings;
};

/// Consumes `proto`. `depth` 0 is the main graph; in nested ones, names that resolve to nothing become captured values.
/// The result's order is an execution order, and its sparse initializers are dense.
Result<ir::Graph> import_graph(onnx::GraphProto& proto, const ImportContext& context, int depth = 0);

}  // namespace quarkq::onnx_io
