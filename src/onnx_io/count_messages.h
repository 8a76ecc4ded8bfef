// SPDX-License-Identifier: MIT
// Upper bounds on the number of parts in a serialized model, checked before it is parsed: a node of two bytes in the
// file needs hundreds of bytes in memory. Private to src/onnx_io.
#pragma once

#include <string_view>

#include "base/error.h"

namespace quarkq::onnx_io {

constexpr size_t kMostNodes = 1'000'000;   ///< Includes nested graphs and functions.
constexpr size_t kMostParts = 4'000'000;   ///< Attributes, tensors, types, dimensions and other messages together.
constexpr size_t kMostTexts = 16'000'000;  ///< Names and strings.

/// Fails with kResource if the model in `bytes` exceeds a bound. Does not read tensor data and does not allocate. Bytes
/// that are not a model are accepted here; the parser rejects them.
Status check_counts(std::string_view bytes);

}  // namespace quarkq::onnx_io
