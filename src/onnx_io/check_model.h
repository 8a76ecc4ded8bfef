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

/// check_model() of a model that is about to be written. Stored shapes that only the rewritten graph contradicts
/// (behind operators that inference does not know in the loaded one) are corrected before.
Status check_result(ir::Model& model, Diagnostics& findings);

}  // namespace quarkq::onnx_io
