// SPDX-License-Identifier: MIT
// Bounds on how many parts a serialized model has, found before it is parsed: a node of two bytes in the file takes
// hundreds in memory. Private to src/onnx_io.
#pragma once

#include <string_view>

#include "base/error.h"

namespace quarkq::onnx_io {

constexpr size_t kMostNodes = 1'000'000;   ///< those of nested graphs and functions included
constexpr size_t kMostParts = 4'000'000;   ///< attributes, tensors, types, dimensions and other messages together
constexpr size_t kMostTexts = 16'000'000;  ///< names and strings

/// Fails (kResource) when the model in `bytes` has more. Reads no tensor data and takes no memory. Bytes that are no
/// model are left to the parser.
Status check_counts(std::string_view bytes);

}  // namespace quarkq::onnx_io
