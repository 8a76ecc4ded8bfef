// SPDX-License-Identifier: MIT
#include "pipeline/pin_shapes.h"

#include <algorithm>

#include "base/suggest.h"
#include "ir/dump.h"
#include "ir/edit.h"
#include "onnx_io/infer.h"

namespace quarkq::pipeline {
namespace {

/// `type` with the dimensions `wanted`.
Result<ir::ValueType> with_shape(const ir::Value& input, const std::vector<int64_t>& wanted) {
  ir::ValueType type = input.type;
  const auto refusal = [&] {
    return invalid_argument("--shape ", input.name, "=", join(wanted, ","), ": the model's input is ",
                            ir::dims_text(input.type.dims), "; a dimension that is a number cannot be changed");
  };
  if (type.has_shape && type.dims.size() != wanted.size()) return refusal();
  type.has_shape = true;
  type.dims.resize(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (type.dims[i].known() && type.dims[i].size != wanted[i]) return refusal();
    type.dims[i] = {wanted[i], {}};
  }
  return type;
}

/// The dimensions that legalize.batch makes of an input; the same when its first one is a number.
ir::ValueType with_batch(ir::ValueType type, int64_t batch) {
  if (type.has_shape && !type.dims.empty() && !type.dims[0].known()) type.dims[0] = {batch, {}};
  return type;
}

Status check_names(const ir::Graph& graph, const config::LegalizeBlock& legalize) {
  std::vector<std::string> names;
  for (const ir::ValueId id : graph.required_inputs()) names.push_back(graph.value(id).name);
  for (const auto& [name, dims] : legalize.shapes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return invalid_argument("--shape ", name, ": is no input of the model, allowed are ", join(names, ", "),
                            did_you_mean(name, names));
  }
  return Status();
}

/// Shapes that the file states for outputs and inner values say "N" where the inputs now have a number.
void forget_symbols(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : graph.order()) {
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      for (ir::Dim& dim : edit.mutable_value(output).type.dims) dim.symbol.clear();
    }
  }
}

}  // namespace

Status pin_shapes(ir::Model& model, const config::LegalizeBlock& legalize, Diagnostics& diagnostics) {
  if (legalize.shapes.empty() && !legalize.batch) return Status();
  ir::Graph& graph = model.graph;
  QQ_RETURN_IF_ERROR(check_names(graph, legalize));
  ir::GraphEdit edit(graph);
  bool is_changed = false;
  for (const ir::ValueId id : graph.required_inputs()) {
    const ir::Value& input = graph.value(id);
    ir::ValueType type = input.type;
    if (const auto given = legalize.shapes.find(input.name); given != legalize.shapes.end()) {
      QQ_TRY(type, with_shape(input, given->second));
    } else if (legalize.batch) {
      type = with_batch(std::move(type), *legalize.batch);
    }
    if (ir::dims_text(type.dims) == ir::dims_text(input.type.dims)) continue;
    diagnostics.add("shape-set", input.name,
                    cat(ir::dims_text(input.type.dims), " becomes ", ir::dims_text(type.dims)));
    edit.set_type(id, std::move(type));
    is_changed = true;
  }
  if (!is_changed) return Status();
  forget_symbols(graph);
  return onnx_io::infer_types(model, diagnostics);
}

}  // namespace quarkq::pipeline
