// SPDX-License-Identifier: MIT
// The setting quarkq.backend: which runtime runs the float model.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace quarkq::config {

/// Returns nullopt for quarkq itself ("native", or no setting), otherwise the execution provider of ONNX Runtime in
/// lower case: "cpu" for "ort", "cuda" for "ort:cuda" and "ort:CUDAExecutionProvider". Whether the provider exists is
/// checked when it is opened.
Result<std::optional<std::string>> asked_provider(const std::optional<std::string>& backend);

}  // namespace quarkq::config
