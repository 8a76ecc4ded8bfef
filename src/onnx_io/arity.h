// SPDX-License-Identifier: MIT
// How many inputs and outputs an operator may have, as its schema says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quarkq::onnx_io {

struct Arity {
  int64_t min_inputs = 0, max_inputs = 0;
  int64_t min_outputs = 0, max_outputs = 0;
};

/// Nothing for operators that the library does not know.
std::optional<Arity> arity_of(const std::string& op, const std::string& domain, int64_t opset);

}  // namespace quarkq::onnx_io
