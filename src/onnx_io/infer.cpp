// SPDX-License-Identifier: MIT
#include "onnx_io/infer.h"

#include "ir/edit.h"
#include "onnx_io/library.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {
namespace {

void write_back(onnx::ValueInfoProto& info, ir::Graph& graph) {
  const ir::ValueId id = graph.find(info.name());
  if (!id.valid() || graph.value(id).constant) return;
  Result<ir::ValueType> inferred = take_type(info);
  if (!inferred.ok()) return;
  ir::GraphEdit(graph).set_type(id, merge_types(graph.value(id).type, inferred.value()));
}

/// Constants too large for the skeleton are inputs there; their type is that of their tensor.
void type_large_constants(const Skeleton& skeleton, ir::Graph& graph) {
  for (const ir::NodeId id : skeleton.left_out_nodes) {
    const ir::ValueId output = graph.node(id).output(0);
    const ir::Tensor& tensor = *graph.constant(output);
    ir::ValueType type{tensor.type(), /*has_shape=*/true, {}, {}};
    for (const int64_t dim : tensor.dims()) type.dims.push_back({dim, {}});
    ir::GraphEdit(graph).set_type(output, std::move(type));
  }
}

Status infer_into(ir::Model& model, Inference inference, Diagnostics& diagnostics) {
  Skeleton skeleton = make_skeleton(model);
  Status status = library_infer(skeleton.proto, inference);
  if (!status.ok()) {
    // Often the model's own value_info contradicts its operators: without it the rest can still be inferred.
    skeleton = make_skeleton(model);
    skeleton.proto.mutable_graph()->clear_value_info();
    const std::string first = status.message();
    status = library_infer(skeleton.proto, inference);
    if (status.ok()) diagnostics.add("shape-inference", model.path, cat("stored types were ignored: ", first));
  }
  type_large_constants(skeleton, model.graph);
  if (!status.ok()) {
    diagnostics.add("shape-inference", model.path, cat("some shapes are not known: ", status.message()));
    return Status();
  }
  onnx::GraphProto& graph = *skeleton.proto.mutable_graph();
  for (onnx::ValueInfoProto& info : *graph.mutable_value_info()) write_back(info, model.graph);
  for (onnx::ValueInfoProto& info : *graph.mutable_output()) write_back(info, model.graph);
  return Status();
}

}  // namespace

ir::ValueType merge_types(const ir::ValueType& model, const ir::ValueType& inferred) {
  if (!model.other_type.empty()) return model;
  if (!inferred.other_type.empty()) return model.is_tensor() ? model : inferred;
  ir::ValueType merged = model;
  if (merged.element == ElementType::kUndefined) merged.element = inferred.element;
  if (!inferred.has_shape) return merged;
  if (!merged.has_shape) {
    merged.has_shape = true;
    merged.dims = inferred.dims;
    return merged;
  }
  if (merged.dims.size() != inferred.dims.size()) return merged;
  for (size_t i = 0; i < merged.dims.size(); ++i) {
    ir::Dim& dim = merged.dims[i];
    if (dim.known()) continue;
    dim.size = inferred.dims[i].size;
    if (dim.symbol.empty()) dim.symbol = inferred.dims[i].symbol;
  }
  return merged;
}

Status infer_types(ir::Model& model, Diagnostics& diagnostics) {
  return infer_into(model, Inference::kFollowsValues, diagnostics);
}

Status infer_types_plainly(ir::Model& model, Diagnostics& diagnostics) {
  return infer_into(model, Inference::kPlain, diagnostics);
}

}  // namespace quarkq::onnx_io
