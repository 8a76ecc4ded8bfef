// SPDX-License-Identifier: MIT
// The setting quarkq.backend: who runs the float model.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace quarkq::config {

/// Nothing for quarkq itself ("native", or no setting), else the execution provider of ONNX Runtime in lower case:
/// "cpu" of "ort", "cuda" of "ort:cuda" and of "ort:CUDAExecutionProvider". Whether it is there shows when it is
/// opened.
Result<std::optional<std::string>> asked_provider(const std::optional<std::string>& backend);

}  // namespace quarkq::config
