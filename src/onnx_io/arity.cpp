// SPDX-License-Identifier: MIT
#include "onnx_io/arity.h"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif
#include <onnx/defs/schema.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include "onnx_io/schemas.h"

namespace quarkq::onnx_io {

std::optional<Arity> arity_of(const std::string& op, const std::string& domain, int64_t opset) {
  register_custom_schemas();
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), domain);
  if (schema == nullptr) return std::nullopt;
  return Arity{schema->min_input(), schema->max_input(), schema->min_output(), schema->max_output()};
}

}  // namespace quarkq::onnx_io
