// SPDX-License-Identifier: MIT
// Model-local functions that cannot be expanded. Private to src/onnx_io.
#pragma once

#include "base/error.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Functions are inlined, by the library too, which follows calls as deep as they go. Fails for one that calls itself,
/// also by way of others (kCorruptModel), and when the expanded model has more than kMostNodes nodes (kResource).
Status check_functions(const onnx::ModelProto& model);

}  // namespace quarkq::onnx_io
