// SPDX-License-Identifier: MIT
// Models as text: in the onnx library's syntax, for tests and goldens, and in protobuf's text format, which loses
// nothing and which other tools read and write.
#pragma once

#include <string>

#include "onnx_io/load.h"

namespace quarkq::onnx_io {

/// Parses a whole model (`<ir_version: 8, opset_import: [...]> graph (...) => (...) {...}`).
Result<ir::Model> parse_model_text(const std::string& text);

/// The model in that syntax. Rests (doc strings, metadata) do not appear.
std::string model_text(const ir::Model& model);

/// Whether a file of this name holds protobuf's text format: .onnxtxt, .pbtxt, .txtpb or .textproto.
bool is_text_path(const std::string& path);

/// Loads a file of protobuf's text format, at most 2^31 - 1 bytes; errors as load() has them. External data is not
/// read.
Result<ir::Model> load_text(const std::string& path, LoadReport* report = nullptr);

/// The model in protobuf's text format, weights inside. kResource when it takes 2^31 bytes or more.
Result<std::string> model_as_text(const ir::Model& model);

}  // namespace quarkq::onnx_io
