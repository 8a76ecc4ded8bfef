// SPDX-License-Identifier: MIT
// ir::Attribute to AttributeProto. Private to src/onnx_io.
#pragma once

#include "onnx_io/export_graph.h"

namespace quarkq::onnx_io {

/// The node that holds an attribute, for the names that its nested graphs capture.
struct AttributeHolder {
  const ir::Node& node;
  const ValueNames& names;
  Rests rests;
};

void put_attribute(const ir::Attribute& attribute, const AttributeHolder& holder, onnx::AttributeProto& proto);

}  // namespace quarkq::onnx_io
