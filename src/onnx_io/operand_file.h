// SPDX-License-Identifier: MIT
// Values stored as serialized TensorProto, SequenceProto or OptionalProto: the `.pb` files of ONNX test-data folders.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ir/shape.h"
#include "ir/tensor.h"

namespace quarkq::onnx_io {

/// Loads the value at `path`. `type` is the type of its graph value, because tensor and sequence files are
/// indistinguishable. Fails with kInvalidArgument if there is no such file, kBadData if it does not contain such a
/// value, kUnsupported for sparse tensors and maps.
Result<ir::Operand> load_operand(const std::string& path, const ir::ValueType& type);

/// Parses a value in memory. Messages refer to it as `name`.
Result<ir::Operand> parse_operand(std::span<const std::byte> bytes, const std::string& name, const ir::ValueType& type);

}  // namespace quarkq::onnx_io
