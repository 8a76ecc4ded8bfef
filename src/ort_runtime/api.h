// SPDX-License-Identifier: MIT
// The seam to ONNX Runtime's C API on the calling side: the loaded library, its errors, and objects that free
// themselves.
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>
#include <string>

#include "base/error.h"

namespace quarkq::ort_runtime {

/// The oldest API that has what is used here: ONNX Runtime 1.17.
constexpr uint32_t kApiVersion = 17;

/// The functions of the library, which stays loaded until the process ends. Fails as open_operators().
Result<const OrtApi*> load_api();

/// Their error as ours; releases it.
inline Status from_ort(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return Status();
  Status own = unsupported("ONNX Runtime: ", api.GetErrorMessage(status));
  api.ReleaseStatus(status);
  return own;
}

template <typename T>
using Owned = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

}  // namespace quarkq::ort_runtime

/// Returns an error of an OrtApi call from the calling function.
#define QQ_ORT_CALL(api, call) QQ_RETURN_IF_ERROR(::quarkq::ort_runtime::from_ort(api, (api).call))
