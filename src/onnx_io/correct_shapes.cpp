// SPDX-License-Identifier: MIT
#include "onnx_io/correct_shapes.h"

#include <algorithm>

#include "ir/edit.h"
#include "ir/search.h"
#include "onnx_io/library.h"
#include "onnx_io/skeleton.h"
#include "onnx_io/tensor_proto.h"

namespace quarkq::onnx_io {
namespace {

bool is_sound(const ir::Model& model) {
  Skeleton skeleton = make_skeleton(model);
  return library_infer(skeleton.proto, Inference::kStrict).ok();
}

bool contradict(const ir::ValueType& stored, const ir::ValueType& inferred) {
  if (!stored.has_shape || !inferred.has_shape) return false;
  if (stored.dims.size() != inferred.dims.size()) return true;
  for (size_t i = 0; i < stored.dims.size(); ++i) {
    const ir::Dim &a = stored.dims[i], &b = inferred.dims[i];
    if (a.known() && b.known() && a.size != b.size) return true;
  }
  return false;
}

std::string shape_of(const ir::ValueType& type) {
  std::vector<int64_t> dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.size);
  return shape_text(dims);
}

/// Infers the types from the operators. Of the stored shapes only those of the graph's inputs take part.
Result<onnx::GraphProto> infer_without_hints(const ir::Model& model, Inference inference) {
  Skeleton skeleton = make_skeleton(model);
  onnx::GraphProto& graph = *skeleton.proto.mutable_graph();
  graph.clear_value_info();
  for (onnx::ValueInfoProto& output : *graph.mutable_output())
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  QQ_RETURN_IF_ERROR(library_infer(skeleton.proto, inference));
  return std::move(graph);
}

void correct_value(ir::Graph& graph, onnx::ValueInfoProto& info, Diagnostics& findings) {
  const ir::ValueId id = graph.find(info.name());
  if (!id.valid() || graph.value(id).is_input || graph.value(id).constant) return;
  const std::string name = info.name();
  const Result<ir::ValueType> inferred = take_type(info);
  if (!inferred.ok()) return;
  ir::ValueType type = graph.value(id).type;
  const bool is_untyped = !type.is_tensor() && type.other_type.empty();
  if (is_untyped) {
    ir::GraphEdit(graph).set_type(id, inferred.value());
  } else if (contradict(type, inferred.value())) {
    findings.add("value-info-fixed", name,
                 cat("the stored shape is ", shape_of(type), ", the graph computes ", shape_of(inferred.value())));
    type.dims = inferred.value().dims;
    ir::GraphEdit(graph).set_type(id, std::move(type));
  }
}

/// Removes the stored shapes of all values of `graph` but its inputs, and of graphs nested in it.
void drop_shapes(ir::Graph& graph);

void drop_nested_shapes(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  const auto replace = [](ir::GraphPtr& nested) {
    ir::Graph copy = *nested;
    drop_shapes(copy);
    nested = std::make_shared<const ir::Graph>(std::move(copy));
  };
  for (const ir::NodeId id : graph.order()) {
    for (ir::Attribute& attribute : edit.node(id).attributes) ir::change_nested(attribute, replace);
  }
}

void drop_shapes(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id) || graph.value(id).is_input || graph.value(id).constant) continue;
    edit.mutable_value(id).type.has_shape = false;
    edit.mutable_value(id).type.dims.clear();
  }
  drop_nested_shapes(graph);
}

bool declares_types(const ir::Graph& graph) {
  return std::ranges::all_of(graph.outputs(), [&](ir::ValueId id) {
    const ir::ValueType& type = graph.value(id).type;
    return type.is_tensor() || !type.other_type.empty();
  });
}

}  // namespace

void correct_shapes(ir::Model& model, Diagnostics& findings) {
  // Inference of more nodes than any network has would dominate the load.
  constexpr size_t kMostCorrected = 200'000;
  if (model.graph.order().size() > kMostCorrected) return;
  if (declares_types(model.graph) && is_sound(model)) return;
  // Each finds shapes that the other does not: behind computed shapes, and behind operators of unknown types.
  for (const Inference inference : {Inference::kFollowsValues, Inference::kStrict}) {
    Result<onnx::GraphProto> inferred = infer_without_hints(model, inference);
    if (!inferred.ok()) continue;
    onnx::GraphProto& graph = inferred.value();
    for (onnx::ValueInfoProto& info : *graph.mutable_value_info()) correct_value(model.graph, info, findings);
    for (onnx::ValueInfoProto& info : *graph.mutable_output()) correct_value(model.graph, info, findings);
    if (is_sound(model)) return;
  }
  // What is left contradicts inside of nested graphs, or where the library infers in part only (sequences).
  for (const auto drop : {drop_nested_shapes, drop_shapes}) {
    ir::Model without = model;
    drop(without.graph);
    if (!is_sound(without)) continue;
    model = std::move(without);
    findings.add("value-info-fixed", "", "stored shapes contradicted the graph and were dropped");
    return;
  }
}

}  // namespace quarkq::onnx_io
