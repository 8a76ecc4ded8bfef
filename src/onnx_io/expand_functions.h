// SPDX-License-Identifier: MIT
// Model-local functions: calls are replaced by the nodes of the function when a model is loaded, as ONNX Runtime does
// it, so that nothing after the load has to know about functions. Private to src/onnx_io.
#pragma once

#include "base/diagnostics.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Expands all calls, nested ones too, and removes the functions. A function with the domain and name of a standard
/// operator is not called, as in ONNX Runtime. Opset imports that only functions have become imports of the model.
/// Fails as check_functions() does, and with kUnsupported if a function and the model import two opsets between which
/// an operator of the function changes.
Status expand_functions(onnx::ModelProto& model, Diagnostics& findings);

}  // namespace quarkq::onnx_io
