// SPDX-License-Identifier: MIT
// Opset conversion that is used only if the converted model computes what the original does.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace quarkq::pass {

/// Calls onnx_io::convert_opset() and runs both models on one random sample. Fails with kUnsupported if outputs differ
/// by more than rounding, or if only the converted model cannot be run. A model that the executor cannot run is not
/// verified.
Result<ir::Model> convert_opset(const ir::Model& model, int64_t target);

}  // namespace quarkq::pass
