// SPDX-License-Identifier: MIT
// A model of ours in a session of ONNX Runtime, with values of its graph as outputs.
#pragma once

#include <memory>
#include <vector>

#include "exec/backend.h"
#include "ort_runtime/api.h"

namespace quarkq::ort_runtime {

/// `options`: the session gets a copy. Weights are handed over in memory, so that the model may have any size. Fails as
/// the runtime does, and with kResource for a model whose parts beside weights are too large for a protobuf message.
Result<std::unique_ptr<exec::BackendSession>> open_session(const Runtime& runtime, const OrtSessionOptions& options,
                                                           const ir::Model& model,
                                                           const std::vector<ir::ValueId>& wanted);

}  // namespace quarkq::ort_runtime
