// SPDX-License-Identifier: MIT
// Identifies a file that is not an ONNX model. Private to src/onnx_io.
#pragma once

#include <string>
#include <string_view>

namespace quarkq::onnx_io {

/// The cause, for a message, why `bytes` do not parse as a ModelProto. REQUIRES: not empty.
std::string describe_damage(std::string_view bytes);

}  // namespace quarkq::onnx_io
