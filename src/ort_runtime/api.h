// SPDX-License-Identifier: MIT
// The seam to ONNX Runtime's C API on the calling side: the loaded library, its errors, and objects that free
// themselves.
#pragma once

#include <onnxruntime_c_api.h>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "exec/environment.h"
#include "ir/tensor.h"

namespace quarkq::ort_runtime {

/// The oldest API version with all functions used here: ONNX Runtime 1.17.
constexpr uint32_t kApiVersion = 17;

/// The library and its one environment. Both exist until the process ends, because sessions may be released after
/// main().
struct Runtime {
  const OrtApi& api;
  const OrtEnv* env = nullptr;            ///< Prints nothing to stderr; errors are returned by the calls.
  const OrtMemoryInfo* memory = nullptr;  ///< Memory owned by quarkq.
  std::string version;
};

/// Fails for the reasons of open_operators().
Result<const Runtime*> load_runtime();

/// Converts an OrtStatus to a Status and releases it. Throws std::bad_alloc if the runtime ran out of memory.
Status from_ort(const OrtApi& api, OrtStatus* status);

template <typename T>
using Owned = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

/// Returns options of a session with `threads` threads and the operators of these libraries. Fails with
/// kInvalidArgument if a library cannot be registered.
Result<Owned<OrtSessionOptions>> session_options(const OrtApi& api, int threads,
                                                 const std::vector<std::string>& libraries);

}  // namespace quarkq::ort_runtime

/// Returns an error of an OrtApi call from the calling function.
#define QQ_ORT_CALL(api, call) QQ_RETURN_IF_ERROR(::quarkq::ort_runtime::from_ort(api, (api).call))

namespace quarkq::ort_runtime {

// Conversion between tensors of ONNX Runtime and ir::Tensor without a copy. Tensors from the runtime are checked here.

/// Wraps the memory of `tensor`, which must not change. Fails for strings.
Result<Owned<OrtValue>> to_value(const Runtime& runtime, const ir::Tensor& tensor);

/// Returns type and dimensions, with -1 for unknown dimensions. A scalar is indistinguishable from an unknown shape and
/// has none here.
Result<ir::ValueType> to_type(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info);

/// Names of the inputs and outputs of a run.
struct Ports {
  std::vector<std::string> inputs, outputs;
};

/// Runs `session`. Fails if an output is not a tensor of numbers or reports an impossible shape.
Result<std::vector<ir::Tensor>> run(const Runtime& runtime, OrtSession& session, const Ports& ports,
                                    const std::vector<const ir::Tensor*>& inputs);

// An ir::Model in a session of ONNX Runtime, with selected values of its graph as outputs.

/// Opens a session with a copy of `options`. Weights are passed in memory, so the model may have any size. Fails if the
/// runtime rejects the model, and with kResource if the model without its weights is too large for a protobuf message.
Result<std::unique_ptr<exec::BackendSession>> open_session(const Runtime& runtime, const OrtSessionOptions& options,
                                                           const ir::Model& model,
                                                           const std::vector<ir::ValueId>& wanted);

}  // namespace quarkq::ort_runtime
