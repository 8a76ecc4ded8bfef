// SPDX-License-Identifier: MIT
// Conversion of GraphProto to ir::Graph: values and nodes linked by name, nested graphs with their captures. Detects
// all faults of names and links in a file. Private to src/onnx_io.
#pragma once

#include <functional>

#include "base/diagnostics.h"
#include "ir/graph.h"
#include "ir/node.h"
#include "onnx_io/external_data.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

// AttributeProto to ir::Attribute. Private to src/onnx_io.

/// Dependencies of importing an attribute: external files for tensors, and a function to import nested graphs.
struct AttributeContext {
  ExternalFiles& external;
  std::function<Result<ir::GraphPtr>(onnx::GraphProto&)> import_graph;
};

/// Consumes `proto`. Kinds without a typed form and references inside functions become ir::OpaqueAttribute.
Result<ir::Attribute> take_attribute(onnx::AttributeProto& proto, const AttributeContext& context);

/// Replaces value_float(s), value_int(s), value_string(s) and sparse_value of a Constant node by `value`, a tensor.
void unify_constant_value(ir::Attribute& attribute);

/// Source of tensor data, and destination of findings about the file.
struct ImportContext {
  ExternalFiles& external;
  Diagnostics& findings;
};

/// Consumes `proto`. `depth` 0 is the main graph; in nested graphs, unresolved names become captured values. The
/// result's order is an execution order, and its sparse initializers are dense.
Result<ir::Graph> import_graph(onnx::GraphProto& proto, const ImportContext& context, int depth = 0);

}  // namespace quarkq::onnx_io
