// SPDX-License-Identifier: MIT
#include "onnx_io/skeleton.h"

#include <algorithm>

#include "onnx_io/export_graph.h"
#include "onnx_io/tensor_proto.h"

namespace quarkq::onnx_io {
namespace {

bool is_large(const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kString) return tensor.size() > kSkeletonBytes / 16;
  return tensor.bytes() > kSkeletonBytes;
}

/// The tensor of a Constant node that is too large for a skeleton, or null.
const ir::Tensor* large_constant(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Constant") || !node.output(0).valid() || graph.value(node.output(0)).is_output) return nullptr;
  const auto* tensor = node.get<ir::Tensor>("value");
  return tensor != nullptr && is_large(*tensor) ? tensor : nullptr;
}

void put_tensor_input(const std::string& name, const ir::Tensor& tensor, onnx::ValueInfoProto& proto) {
  proto.set_name(name);
  onnx::TypeProto_Tensor& type = *proto.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int32_t>(tensor.type()));
  onnx::TensorShapeProto& shape = *type.mutable_shape();
  for (const int64_t dim : tensor.dims()) shape.add_dim()->set_dim_value(dim);
}

void put_initializers(const ir::Graph& graph, Skeleton& skeleton) {
  onnx::GraphProto& out = *skeleton.proto.mutable_graph();
  for (const ir::ValueId id : graph.initializers()) {
    const ir::Value& value = graph.value(id);
    if (!is_large(*value.constant)) {
      onnx::TensorProto& tensor = *out.add_initializer();
      tensor.set_name(value.name);
      put_tensor(*value.constant, tensor);
      continue;
    }
    skeleton.left_out.push_back(id);
    if (!value.is_input) put_tensor_input(value.name, *value.constant, *out.add_input());
  }
}

void put_nodes(const ir::Graph& graph, const ValueNames& names, Skeleton& skeleton) {
  onnx::GraphProto& out = *skeleton.proto.mutable_graph();
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (const ir::Tensor* tensor = large_constant(graph, node)) {
      skeleton.left_out_nodes.push_back(id);
      put_tensor_input(graph.value(node.output(0)).name, *tensor, *out.add_input());
      continue;
    }
    put_node(node, names, Rests::kLeaveOut, *out.add_node());
  }
}

}  // namespace

Skeleton make_skeleton(const ir::Model& model) {
  Skeleton skeleton;
  merge_rest(model.extra, skeleton.proto);
  put_model_head(model, skeleton.proto);
  // The library refuses IR versions that it does not know; none of their news concerns what it is asked.
  skeleton.proto.set_ir_version(std::min<int64_t>(model.ir_version, onnx::Version::IR_VERSION));
  const ir::Graph& graph = model.graph;
  const ValueNames names(graph);
  onnx::GraphProto& out = *skeleton.proto.mutable_graph();
  merge_rest(graph.extra, out);
  out.set_name(graph.name.empty() ? "graph" : graph.name);
  for (const ir::ValueId id : graph.inputs()) {
    put_value_info(graph.value(id), graph.value(id).name, Rests::kLeaveOut, *out.add_input());
  }
  put_initializers(graph, skeleton);
  put_nodes(graph, names, skeleton);
  for (const ir::ValueId id : graph.outputs()) {
    put_value_info(graph.value(id), graph.value(id).name, Rests::kLeaveOut, *out.add_output());
  }
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id)) continue;
    const ir::Value& value = graph.value(id);
    const bool made_here = value.producer.valid() && !value.is_output;
    if (!made_here || !(value.type.is_tensor() || !value.type.other_type.empty())) continue;
    const ir::Node& producer = graph.node(value.producer);
    if (large_constant(graph, producer) != nullptr) continue;
    put_value_info(value, value.name, Rests::kLeaveOut, *out.add_value_info());
  }
  return skeleton;
}

}  // namespace quarkq::onnx_io
