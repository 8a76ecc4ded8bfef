// SPDX-License-Identifier: MIT
// Opset conversion that is used only if the converted model computes what the original does.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace quarkq::pass {

/// As onnx_io::convert_opset(), and both models are run on one random sample: kUnsupported if outputs differ by more
/// than rounding, or if the converted model cannot be run although the original can. A model that the executor cannot
/// run is not verified.
Result<ir::Model> convert_opset(const ir::Model& model, int64_t target);

}  // namespace quarkq::pass
