// SPDX-License-Identifier: MIT
// GraphProto to ir::Graph: values and nodes linked by name, nested graphs with what they capture. Everything a file can
// get wrong about names and links is found here. Private to src/onnx_io.
#pragma once

#include "ir/graph.h"
#include "onnx_io/external_data.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Consumes `proto`. `depth` 0 is the main graph; in nested ones, names that resolve to nothing become captured values.
Result<ir::Graph> import_graph(onnx::GraphProto& proto, ExternalFiles& external, int depth = 0);

}  // namespace quarkq::onnx_io
