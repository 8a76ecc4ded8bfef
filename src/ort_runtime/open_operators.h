// SPDX-License-Identifier: MIT
// ONNX Runtime, loaded while the program runs: nothing is linked, and everything else works without it. The only files
// that see its C header are those of this folder and src/ort_ops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/environment.h"

namespace quarkq::ort_runtime {

/// Operators of the libraries at these paths, and those of ONNX Runtime itself. ONNX Runtime is looked for in
/// $QUARKQ_ONNXRUNTIME (a file), in the system, and in Python's packages. Fails with kUnsupported when it is not there,
/// saying how to get it, and with kInvalidArgument when a library cannot be registered.
Result<std::shared_ptr<const exec::ForeignOperators>> open_operators(const std::vector<std::string>& libraries);

}  // namespace quarkq::ort_runtime
