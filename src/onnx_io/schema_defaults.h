// SPDX-License-Identifier: MIT
// Default values of attributes, as the operators' schemas state them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/attribute.h"

namespace quarkq::onnx_io {

/// Attributes with a default, by name; none for operators that the library does not know.
std::vector<ir::Attribute> default_attributes(const std::string& op, const std::string& domain, int64_t opset);

}  // namespace quarkq::onnx_io
