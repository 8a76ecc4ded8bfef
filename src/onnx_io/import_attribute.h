// SPDX-License-Identifier: MIT
// AttributeProto to ir::Attribute. Private to src/onnx_io.
#pragma once

#include <functional>

#include "ir/attribute.h"
#include "onnx_io/external_data.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// What importing an attribute needs from outside: external files for tensors, a way to import nested graphs.
struct AttributeContext {
  ExternalFiles& external;
  std::function<Result<ir::GraphPtr>(onnx::GraphProto&)> import_graph;
};

/// Consumes `proto`. Kinds without a typed form, and references inside functions, become ir::OpaqueAttribute.
Result<ir::Attribute> take_attribute(onnx::AttributeProto& proto, const AttributeContext& context);

/// Replaces value_float(s), value_int(s), value_string(s) and sparse_value of a Constant node by `value`, a tensor.
void unify_constant_value(ir::Attribute& attribute);

}  // namespace quarkq::onnx_io
