// SPDX-License-Identifier: MIT
// ONNX Runtime, loaded while the program runs. It is not linked, and everything else works without it. Its C header is
// included only in this folder and in src/ort_ops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/environment.h"

namespace quarkq::ort_runtime {

/// Returns the operators of the libraries at these paths and of ONNX Runtime itself. Searches ONNX Runtime in
/// $QUARKQ_ONNXRUNTIME (a file), in the system and in Python's packages. Fails with kUnsupported if it is not found;
/// the message explains how to install it. Fails with kInvalidArgument if a library cannot be registered.
Result<std::shared_ptr<const exec::ForeignOperators>> open_operators(const std::vector<std::string>& libraries);

}  // namespace quarkq::ort_runtime
