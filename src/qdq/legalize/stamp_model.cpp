// SPDX-License-Identifier: MIT
// The producer, names that are unique, and the types of all values that nodes make: whoever reads the model needs them
// where shape inference stops, at the operators of com.amd.quark.
#include <string_view>

#include "ir/edit.h"
#include "ir/unique_names.h"
#include "onnx_io/infer.h"
#include "qdq/passes.h"
#include "quarkq/version.h"

namespace quarkq::qdq {

namespace {

/// The onnx library invents such names; in a file they could meet others of another meaning.
constexpr std::string_view kInvented = "unk__";

/// What the file then says about inner values.
void store_known_types(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : graph.order()) {
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      ir::Value& value = edit.mutable_value(output);
      if (value.has_info || value.is_output || !value.type.is_tensor() || !value.type.has_shape) continue;
      value.has_info = true;
      for (ir::Dim& dim : value.type.dims) {
        if (dim.symbol.starts_with(kInvented)) dim.symbol.clear();
      }
    }
  }
}

}  // namespace

Result<Changed> stamp_model(pass::QdqContext& context) {
  context.model.producer_name = "quarkq";
  context.model.producer_version = version();
  ir::make_names_unique(context.graph());
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  store_known_types(context.graph());
  return Changed::kYes;
}

}  // namespace quarkq::qdq
