// SPDX-License-Identifier: MIT
#include "pipeline/run/use_backend.h"

#include <omp.h>

#include "config/enums.h"
#include "config/named_files.h"
#include "exec/op_def.h"
#include "ir/edit.h"
#include "ir/traversal.h"
#include "onnx_io/infer.h"
#include "onnx_io/schemas.h"
#include "ort_runtime/open_backend.h"
#include "ort_runtime/open_operators.h"

namespace quarkq::pipeline {

Status use_backend(const config::QuantConfig& asked, exec::Environment& environment) {
  QQ_TRY(const std::optional<std::string> provider, config::asked_provider(asked.tool.backend));
  if (!provider) return Status();
  ort_runtime::BackendOptions options{*provider, {}, omp_get_max_threads()};
  QQ_TRY(options.libraries, config::user_libraries(asked));
  QQ_TRY(environment.backend, ort_runtime::open_backend(options));
  return Status();
}

void report_backend(const exec::Environment& environment, Diagnostics& diagnostics) {
  if (environment.backend == nullptr) return;
  diagnostics.add("backend", "", cat("calibrated with ", environment.backend->name()));
}

namespace {

/// Neither a kernel of ours nor a schema of ONNX.
bool is_custom(const ir::Model& model, const ir::Node& node) {
  const auto domain = model.opsets.find(node.domain);
  const int64_t opset = domain == model.opsets.end() ? 1 : domain->second;
  return exec::find_op(node.op, node.domain, opset) == nullptr && !onnx_io::arity_of(node.op, node.domain, opset);
}

/// False where nothing new is known, or the inputs have no types yet.
Result<bool> type_outputs(ir::Model& model, ir::NodeId id, const exec::ForeignOperators& operators) {
  const ir::Node node = model.graph.node(id);
  std::vector<ir::ValueType> inputs;
  for (const ir::ValueId input : node.inputs) {
    inputs.push_back(input.valid() ? model.graph.value(input).type : ir::ValueType());
    if (input.valid() && !inputs.back().is_tensor()) return false;
  }
  QQ_TRY(const auto ready, operators.prepare(node, model.opsets, inputs));
  const std::vector<ir::ValueType> types = ready->output_types();
  bool is_new = false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    const ir::ValueType& old = model.graph.value(node.outputs[i]).type;
    const ir::ValueType merged = onnx_io::merge_types(old, types[i]);
    is_new = is_new || !(merged == old);
    ir::GraphEdit(model.graph).set_type(node.outputs[i], merged);
  }
  return is_new;
}

}  // namespace

Status use_user_operators(const config::QuantConfig& asked, exec::Environment& environment) {
  QQ_TRY(const std::vector<std::string> libraries, config::user_libraries(asked));
  if (libraries.empty() && !asked.tool.backend) return Status();
  QQ_TRY(environment.foreign_operators, ort_runtime::open_operators(libraries));
  return Status();
}

Status check_operators_known(const ir::Model& model, const exec::Environment& environment) {
  if (environment.foreign_operators != nullptr) return Status();
  for (const ir::NodeId id : model.graph.order()) {
    const ir::Node& node = model.graph.node(id);
    if (is_custom(model, node))
      return unsupported(model.graph.label(id), ": operator ", ir::full_op_name(node),
                         " is unknown, and samples cannot run through it; ", exec::advice_without_kernel(node.domain));
  }
  return Status();
}

Status type_user_operators(ir::Model& model, const exec::Environment& environment, Diagnostics& diagnostics) {
  if (environment.foreign_operators == nullptr) return Status();
  std::map<std::string, int> counts;
  for (const ir::NodeId id : std::vector<ir::NodeId>(model.graph.order())) {
    const ir::Node& node = model.graph.node(id);
    if (!is_custom(model, node)) continue;
    ++counts[ir::full_op_name(node)];
    const std::string label = model.graph.label(id);
    QQ_TRY(const bool is_new, type_outputs(model, id, *environment.foreign_operators).context(label));
    if (is_new) QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, diagnostics));
  }
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [op, count] : counts) texts.push_back(cat(count, " x ", op));
  if (!texts.empty()) diagnostics.add("custom-operators", model.path, join(texts, ", ") + " in ONNX Runtime");
  return Status();
}

}  // namespace quarkq::pipeline
