// SPDX-License-Identifier: MIT
// The seam to ONNX Runtime's C API on the calling side: the loaded library, its errors, and objects that free
// themselves.
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::ort_runtime {

/// The oldest API that has what is used here: ONNX Runtime 1.17.
constexpr uint32_t kApiVersion = 17;

/// The library and its one environment, which both stay until the process ends: sessions may be released after main().
struct Runtime {
  const OrtApi& api;
  const OrtEnv* env = nullptr;            ///< writes nothing to stderr; what goes wrong is in the errors of calls
  const OrtMemoryInfo* memory = nullptr;  ///< ours
  std::string version;
};

/// Fails as open_operators().
Result<const Runtime*> load_runtime();

/// Their error as ours; releases it. Throws std::bad_alloc where the runtime got no memory.
Status from_ort(const OrtApi& api, OrtStatus* status);

template <typename T>
using Owned = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

/// Options of a session on `threads` threads that knows the operators of these libraries. Fails with kInvalidArgument
/// when one cannot be registered.
Result<Owned<OrtSessionOptions>> session_options(const OrtApi& api, int threads,
                                                 const std::vector<std::string>& libraries);

}  // namespace quarkq::ort_runtime

/// Returns an error of an OrtApi call from the calling function.
#define QQ_ORT_CALL(api, call) QQ_RETURN_IF_ERROR(::quarkq::ort_runtime::from_ort(api, (api).call))
