// SPDX-License-Identifier: MIT
#include "onnx_io/schema_defaults.h"

#include "onnx_io/import_attribute.h"
#include "onnx_io/onnx_headers.h"
#include "onnx_io/schemas.h"

namespace quarkq::onnx_io {

std::vector<ir::Attribute> default_attributes(const std::string& op, const std::string& domain, int64_t opset) {
  register_custom_schemas();
  std::vector<ir::Attribute> defaults;
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), domain);
  if (schema == nullptr) return defaults;
  ExternalFiles no_files("");
  const AttributeContext context{no_files, [](onnx::GraphProto&) -> Result<ir::GraphPtr> { return ir::GraphPtr(); }};
  for (const auto& [name, attribute] : schema->attributes()) {
    if (attribute.default_value.type() == onnx::AttributeProto::UNDEFINED) continue;
    onnx::AttributeProto copy = attribute.default_value;
    copy.set_name(name);
    Result<ir::Attribute> taken = take_attribute(copy, context);
    if (taken.ok()) defaults.push_back(std::move(taken).value());
  }
  return defaults;
}

}  // namespace quarkq::onnx_io
