// SPDX-License-Identifier: MIT
// ModelProto to ir::Model. Private to src/onnx_io.
#pragma once

#include "ir/graph.h"
#include "onnx_io/external_data.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Consumes `proto`; checks versions and graph. Model::path stays empty.
Result<ir::Model> import_model(onnx::ModelProto& proto, ExternalFiles& external);

}  // namespace quarkq::onnx_io
