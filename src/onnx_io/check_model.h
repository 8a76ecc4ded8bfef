// SPDX-License-Identifier: MIT
// The onnx library's checker, for models we read and models we write.
#pragma once

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Full check: structure, operator schemas, strict shape inference, then shapes that inference lets pass and that no
/// run can compute with. kCorruptModel with the library's message, or one that names the node.
/// Operators of domains without schemas pass.
Status check_model(const ir::Model& model);

/// Runs check_model() on a model that is about to be written. First corrects stored shapes that only the rewritten
/// graph contradicts (behind operators that inference does not support in the loaded graph).
Status check_result(ir::Model& model, Diagnostics& findings);

}  // namespace quarkq::onnx_io
