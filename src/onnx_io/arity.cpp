// SPDX-License-Identifier: MIT
#include "onnx_io/arity.h"

#include "onnx_io/onnx_headers.h"
#include "onnx_io/schemas.h"

namespace quarkq::onnx_io {

std::optional<Arity> arity_of(const std::string& op, const std::string& domain, int64_t opset) {
  register_custom_schemas();
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), domain);
  if (schema == nullptr) return std::nullopt;
  return Arity{schema->min_input(), schema->max_input(), schema->min_output(), schema->max_output()};
}

}  // namespace quarkq::onnx_io
