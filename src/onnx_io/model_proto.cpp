// SPDX-License-Identifier: MIT
#include "onnx_io/model_proto.h"

#include <algorithm>

#include "ir/domains.h"
#include "ir/search.h"
#include "onnx_io/expand_functions.h"

namespace quarkq::onnx_io {
namespace {

Status check_versions(const onnx::ModelProto& proto) {
  if (!proto.has_ir_version()) return corrupt_model("no ir_version, so this is not an ONNX model");
  if (proto.ir_version() > kNewestIrVersion) {
    return unsupported("IR version ", proto.ir_version(), ", the newest known is ", kNewestIrVersion);
  }
  if (proto.ir_version() <= 0) return corrupt_model("IR version ", proto.ir_version(), " does not exist");
  if (!proto.has_graph()) return corrupt_model("no graph");
  if (proto.opset_import_size() == 0 && proto.ir_version() >= kOldestIrVersion) {
    return corrupt_model("no opset_import, which IR version ", proto.ir_version(), " needs");
  }
  return Status();
}

Status take_opsets(onnx::ModelProto& proto, ir::Model& model) {
  for (const onnx::OperatorSetIdProto& entry : proto.opset_import()) {
    const std::string domain = entry.domain() == "ai.onnx" ? "" : entry.domain();
    const std::string shown = domain.empty() ? "ai.onnx" : domain;
    if (entry.version() <= 0) return corrupt_model("opset ", entry.version(), " of ", shown, " does not exist");
    if (domain.empty() && entry.version() > kNewestOpset) {
      return unsupported("opset ", entry.version(), " of ai.onnx, the newest known is ", kNewestOpset);
    }
    const int64_t known = model.opset(domain);
    if (known != 0 && known != entry.version()) {
      return corrupt_model("two opsets of ", shown, ": ", known, " and ", entry.version());
    }
    model.set_opset(domain, entry.version());
  }
  if (proto.opset_import_size() == 0) model.set_opset("", 1);  // what IR versions before 3 mean by saying nothing
  proto.clear_opset_import();
  return Status();
}

/// True if a node of `graph` or of a graph nested in it belongs to `domain`.
bool uses_domain(const ir::Graph& graph, const std::string& domain) {
  return std::ranges::any_of(graph.order(), [&](ir::NodeId id) {
    const ir::Node& node = graph.node(id);
    if (node.domain == domain) return true;
    const auto nested = ir::nested_graphs(node);
    return std::ranges::any_of(nested, [&](const ir::Graph* inner) { return uses_domain(*inner, domain); });
  });
}

/// ONNX Runtime knows its own domain without an import.
void add_missing_import(ir::Model& model, Diagnostics& findings) {
  if (model.opset(ir::kMicrosoftDomain) != 0 || !uses_domain(model.graph, ir::kMicrosoftDomain)) return;
  model.set_opset(ir::kMicrosoftDomain, 1);
  findings.add("opset-import-added", ir::kMicrosoftDomain,
               "the model has operators of this domain without an opset import");
}

}  // namespace

Result<ir::Model> import_model(onnx::ModelProto& proto, const ImportContext& context) {
  QQ_RETURN_IF_ERROR(check_versions(proto));
  QQ_RETURN_IF_ERROR(expand_functions(proto, context.findings));
  ir::Model model;
  QQ_RETURN_IF_ERROR(take_opsets(proto, model));
  model.ir_version = proto.ir_version();
  model.producer_name = proto.producer_name();
  model.producer_version = proto.producer_version();
  QQ_TRY(model.graph, import_graph(*proto.mutable_graph(), context));
  add_missing_import(model, context.findings);
  proto.clear_graph();
  proto.clear_ir_version();
  proto.clear_producer_name();
  proto.clear_producer_version();
  model.extra = proto.SerializeAsString();
  return model;
}

Result<ir::Model> import_own_model(onnx::ModelProto& proto) {
  ExternalFiles no_files("");
  Diagnostics ignored;
  return import_model(proto, {no_files, ignored});
}

}  // namespace quarkq::onnx_io
