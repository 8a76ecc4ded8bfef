// SPDX-License-Identifier: MIT
// Schemas of the custom operators that quarkq writes, for the library's inference and checker. Private to src/onnx_io.
#pragma once

namespace quarkq::onnx_io {

/// Registers them once; call before any inference, check or conversion. Thread-safe.
void register_custom_schemas();

}  // namespace quarkq::onnx_io
