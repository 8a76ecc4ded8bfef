// SPDX-License-Identifier: MIT
// Tensors of ONNX Runtime and ours, without a copy. What the runtime returns is checked here.
#pragma once

#include <string>
#include <vector>

#include "ir/tensor.h"
#include "ort_runtime/api.h"

namespace quarkq::ort_runtime {

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

}  // namespace quarkq::ort_runtime
