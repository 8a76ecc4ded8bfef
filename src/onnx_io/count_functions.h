// SPDX-License-Identifier: MIT
// Bounds on what a model becomes when its local functions are expanded. Private to src/onnx_io.
#pragma once

#include "base/error.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Fails for a function that calls itself, also through others (kCorruptModel), if calls are nested more than
/// kMaxGraphDepth deep (kUnsupported), and if the expanded model has more than kMostNodes nodes or function bodies add
/// more than kMostBodyBytes (kResource).
Status check_functions(const onnx::ModelProto& model);

}  // namespace quarkq::onnx_io
