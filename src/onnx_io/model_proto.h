// SPDX-License-Identifier: MIT
// Conversion of ModelProto to ir::Model. Private to src/onnx_io.
#pragma once

#include "ir/graph.h"
#include "onnx_io/import_graph.h"

namespace quarkq::onnx_io {

/// Consumes `proto`. Checks versions and graph and expands model-local functions. Model::path stays empty.
Result<ir::Model> import_model(onnx::ModelProto& proto, const ImportContext& context);

/// Imports a model that this program or the onnx library made: it has no external data and needs no findings.
Result<ir::Model> import_own_model(onnx::ModelProto& proto);

}  // namespace quarkq::onnx_io
