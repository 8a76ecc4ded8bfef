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

namespace quarkq::ort_runtime {

// Tensors of ONNX Runtime and ours, without a copy. What the runtime returns is checked here.

/// Reads the memory of `tensor`, which must stay as it is. Fails for texts.
Result<Owned<OrtValue>> to_value(const Runtime& runtime, const ir::Tensor& tensor);

/// Type and dimensions, -1 where unknown. A scalar has no shape here: it looks like what nothing is known of.
Result<ir::ValueType> to_type(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info);

/// Names of what a session is given and asked for.
struct Ports {
  std::vector<std::string> inputs, outputs;
};

/// Runs `session`. Fails when an output is no tensor of numbers, or claims a shape that none has.
Result<std::vector<ir::Tensor>> run(const Runtime& runtime, OrtSession& session, const Ports& ports,
                                    const std::vector<const ir::Tensor*>& inputs);

// A model of ours in a session of ONNX Runtime, with values of its graph as outputs.

/// `options`: the session gets a copy. Weights are handed over in memory, so that the model may have any size. Fails as
/// the runtime does, and with kResource for a model whose parts beside weights are too large for a protobuf message.
Result<std::unique_ptr<exec::BackendSession>> open_session(const Runtime& runtime, const OrtSessionOptions& options,
                                                           const ir::Model& model,
                                                           const std::vector<ir::ValueId>& wanted);

}  // namespace quarkq::ort_runtime
