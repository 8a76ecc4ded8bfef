// SPDX-License-Identifier: MIT
// The error that all functions of this library return if it was built without ONNX Runtime's C header.
#pragma once

#include "base/error.h"

namespace quarkq::ort_runtime {

inline Status missing_header() {
  return unsupported(
      "this quarkq was built without ONNX Runtime's C header, so it cannot load it; build it again with "
      "ONNXRUNTIME_ROOT=DIR");
}

}  // namespace quarkq::ort_runtime
