// SPDX-License-Identifier: MIT
// Models as text: in the onnx library's syntax, for tests and goldens, and in protobuf's text format, which is lossless
// and which other tools read and write.
#pragma once

#include <string>

#include "onnx_io/load.h"

namespace quarkq::onnx_io {

/// Parses a whole model (`<ir_version: 8, opset_import: [...]> graph (...) => (...) {...}`).
Result<ir::Model> parse_model_text(const std::string& text);

/// Returns the model in that syntax, without rests (doc strings, metadata).
std::string model_text(const ir::Model& model);

/// Returns whether a file name selects protobuf's text format: .onnxtxt, .pbtxt, .txtpb or .textproto.
bool is_text_path(const std::string& path);

/// Loads a file in protobuf's text format, at most 2^31 - 1 bytes. Fails like load(). External data is not read.
Result<ir::Model> load_text(const std::string& path, LoadReport* report = nullptr);

/// Returns the model in protobuf's text format, with weights inside. Fails with kResource if it needs 2^31 bytes or
/// more.
Result<std::string> model_as_text(const ir::Model& model);

}  // namespace quarkq::onnx_io
