// SPDX-License-Identifier: MIT
// Values stored as serialized TensorProto, SequenceProto or OptionalProto: the `.pb` files of ONNX test-data folders.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ir/shape.h"
#include "ir/tensor.h"

namespace quarkq::onnx_io {

/// Loads the value at `path`. `type` is that of the graph value it is for: a tensor file and a sequence file look
/// alike. kInvalidArgument: no such file; kBadData: not such a value; kUnsupported: sparse tensors and maps.
Result<ir::Operand> load_operand(const std::string& path, const ir::ValueType& type);

/// The same from memory; `name` is its name in messages.
Result<ir::Operand> parse_operand(std::span<const std::byte> bytes, const std::string& name, const ir::ValueType& type);

}  // namespace quarkq::onnx_io
