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

/// True if output `index` has a type of its own, which attribute stash_type chooses: mean and deviation of
/// LayerNormalization. False for operators that the library does not know.
bool has_stash_type(const std::string& op, int64_t opset, size_t index);

}  // namespace quarkq::onnx_io
