// SPDX-License-Identifier: MIT
// The producer, names that are unique, and the types of all values that nodes make: readers of the model need them
// where shape inference stops, at the operators of com.amd.quark.
#include <string_view>

#include "ir/edit.h"
#include "ir/unique_names.h"
#include "pass/tidy_up.h"
#include "qdq/passes.h"
#include "quarkq/version.h"

namespace quarkq::qdq {

namespace {

/// The onnx library invents such names; in a file they could meet others of another meaning.
constexpr std::string_view kInvented = "unk__";

/// The value_info written for inner values.
Changed store_known_types(ir::Graph& graph) {
  Changed changed = Changed::kNo;
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : graph.order()) {
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      ir::Value& value = edit.mutable_value(output);
      if (value.has_info || value.is_output || !value.type.is_tensor() || !value.type.has_shape) continue;
      value.has_info = true;
      changed = Changed::kYes;
      for (ir::Dim& dim : value.type.dims) {
        if (dim.symbol.starts_with(kInvented)) dim.symbol.clear();
      }
    }
  }
  return changed;
}

}  // namespace

Result<Changed> stamp_model(pass::QdqContext& context) {
  ir::Model& model = context.model;
  const bool is_stamped = model.producer_name == "quarkq" && model.producer_version == version();
  model.producer_name = "quarkq";
  model.producer_version = version();
  const size_t renamed = ir::make_names_unique(model.graph);
  QQ_TRY(const Changed retyped, pass::infer_types_again(model, context.diagnostics));
  const Changed told = store_known_types(model.graph);
  const bool is_same = is_stamped && renamed == 0 && retyped == Changed::kNo && told == Changed::kNo;
  return is_same ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::qdq
