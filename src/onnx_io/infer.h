// SPDX-License-Identifier: MIT
// Types and shapes of values, by the onnx library's inference.
#pragma once

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Fills in what the library can infer about the main graph's values from operators, types and small constants. What
/// the model says itself is kept where the two differ. A failure of the library is no error: it becomes the notice
/// "shape-inference", and types stay as they were.
Status infer_types(ir::Model& model, Diagnostics& diagnostics);

/// What is known of a type when two sources say `model` and `inferred`: `model` wins, `inferred` fills its gaps.
ir::ValueType merge_types(const ir::ValueType& model, const ir::ValueType& inferred);

// Shape inference that looks at no values, for what depends on how little is known.

/// As infer_types(), but without following the contents of small integer tensors that shapes are computed from.
Status infer_types_plainly(ir::Model& model, Diagnostics& diagnostics);

}  // namespace quarkq::onnx_io
