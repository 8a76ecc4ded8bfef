// SPDX-License-Identifier: MIT
// Shape inference that looks at no values, for what depends on how little is known.
#pragma once

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::onnx_io {

/// As infer_types(), but without following the contents of small integer tensors that shapes are computed from.
Status infer_types_plainly(ir::Model& model, Diagnostics& diagnostics);

}  // namespace quarkq::onnx_io
