// SPDX-License-Identifier: MIT
// Which element types an operator's inputs and outputs may have, as its schema says.
#pragma once

#include <cstdint>
#include <string>

#include "numeric/element_type.h"

namespace quarkq::onnx_io {

/// An input or output of a node.
struct Place {
  bool is_input = true;
  size_t index = 0;
};

/// Whether a tensor of `type` may be there. False for operators that the library does not know, and beyond the last
/// one.
bool takes_type(const std::string& op, int64_t opset, Place place, ElementType type);

}  // namespace quarkq::onnx_io
