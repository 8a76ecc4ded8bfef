// SPDX-License-Identifier: MIT
#include "onnx_io/takes_type.h"

#include <algorithm>

#include "base/strings.h"
#include "onnx_io/onnx_headers.h"
#include "onnx_io/schemas.h"

namespace quarkq::onnx_io {
namespace {

/// "tensor(float16)": what schemas call it.
std::string schema_name(ElementType type) { return cat("tensor(", lower_case(name(type)), ")"); }

}  // namespace

bool takes_type(const std::string& op, int64_t opset, Place place, ElementType type) {
  register_custom_schemas();
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), "");
  if (schema == nullptr) return false;
  const auto& parameters = place.is_input ? schema->inputs() : schema->outputs();
  if (parameters.empty()) return false;
  const bool is_variadic = parameters.back().GetOption() == onnx::OpSchema::Variadic;
  if (place.index >= parameters.size() && !is_variadic) return false;
  const auto& types = parameters[std::min(place.index, parameters.size() - 1)].GetTypes();
  const std::string wanted = schema_name(type);
  return std::ranges::any_of(types, [&](const std::string* one) { return *one == wanted; });
}

bool has_stash_type(const std::string& op, int64_t opset, size_t index) {
  register_custom_schemas();
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), "");
  if (schema == nullptr || !schema->attributes().contains("stash_type") || index >= schema->outputs().size())
    return false;
  const std::string& type = schema->outputs()[index].GetTypeStr();
  return std::ranges::none_of(schema->inputs(), [&](const auto& input) { return input.GetTypeStr() == type; });
}

}  // namespace quarkq::onnx_io
