// SPDX-License-Identifier: MIT
// The onnx library's checker, for models we read and models we write.
#pragma once

#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Full check: structure, operator schemas, strict shape inference, then shapes that inference lets pass and that no
/// run can compute with. kCorruptModel with the library's message, or one that names the node.
/// Operators of domains without schemas pass.
Status check_model(const ir::Model& model);

}  // namespace quarkq::onnx_io
