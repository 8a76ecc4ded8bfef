// SPDX-License-Identifier: MIT
// Types and shapes of values, computed by the onnx library's inference.
#pragma once

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Fills in types that the library infers for the main graph's values from operators, types and small constants. If the
/// model and the inference differ, the model's type is kept. A failure of the library becomes the notice
/// "shape-inference" and leaves types unchanged.
Status infer_types(ir::Model& model, Diagnostics& diagnostics);

/// Merges two types: `model` takes precedence, `inferred` fills its gaps.
ir::ValueType merge_types(const ir::ValueType& model, const ir::ValueType& inferred);

/// Runs infer_types() without following the contents of small integer tensors from which shapes are computed.
Status infer_types_plainly(ir::Model& model, Diagnostics& diagnostics);

}  // namespace quarkq::onnx_io
