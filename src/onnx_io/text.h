// SPDX-License-Identifier: MIT
// Models in the onnx library's text syntax: for tests and goldens.
#pragma once

#include <string>

#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Parses a whole model (`<ir_version: 8, opset_import: [...]> graph (...) => (...) {...}`).
Result<ir::Model> parse_model_text(const std::string& text);

/// The model in that syntax. Rests (doc strings, metadata) do not appear.
std::string model_text(const ir::Model& model);

}  // namespace quarkq::onnx_io
