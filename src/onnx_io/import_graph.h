// SPDX-License-Identifier: MIT
// GraphProto to ir::Graph: values and nodes linked by name, nested graphs with what they capture. Everything a file can
// get wrong about names and links is found here. Private to src/onnx_io.
#pragma once

#include <functional>

#include "base/diagnostics.h"
#include "ir/graph.h"
#include "ir/node.h"
#include "onnx_io/external_data.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

// AttributeProto to ir::Attribute. Private to src/onnx_io.

/// What importing an attribute needs from outside: external files for tensors, a way to import nested graphs.
struct AttributeContext {
  ExternalFiles& external;
  std::function<Result<ir::GraphPtr>(onnx::GraphProto&)> import_graph;
};

/// Consumes `proto`. Kinds without a typed form, and references inside functions, become ir::OpaqueAttribute.
Result<ir::Attribute> take_attribute(onnx::AttributeProto& proto, const AttributeContext& context);

/// Replaces value_float(s), value_int(s), value_string(s) and sparse_value of a Constant node by `value`, a tensor.
void unify_constant_value(ir::Attribute& attribute);

/// Where tensors read their data, and where findings about the file go.
struct ImportContext {
  ExternalFiles& external;
  Diagnostics& findings;
};

/// Consumes `proto`. `depth` 0 is the main graph; in nested ones, names that resolve to nothing become captured values.
/// The result's order is an execution order, and its sparse initializers are dense.
Result<ir::Graph> import_graph(onnx::GraphProto& proto, const ImportContext& context, int depth = 0);

}  // namespace quarkq::onnx_io
