// SPDX-License-Identifier: MIT
#include "onnx_io/export_graph.h"

#include <unordered_set>

#include "base/strings.h"
#include "onnx_io/export_attribute.h"
#include "onnx_io/tensor_proto.h"

namespace quarkq::onnx_io {
namespace {

const std::string kNoName;

}  // namespace

ValueNames::ValueNames(const ir::Graph& nested, const ir::Node& holder, const ValueNames& outer) : graph_(nested) {
  std::unordered_map<std::string, std::string> current;
  for (const ir::Capture& capture : holder.captures) current[capture.name] = outer.of(capture.outer);
  std::unordered_set<std::string> taken;
  for (const ir::ValueId id : nested.captured()) {
    const std::string& imported = nested.value(id).name;
    const auto found = current.find(imported);
    if (found == current.end()) continue;
    taken.insert(found->second);
    if (found->second != imported) changed_[id.index] = found->second;
  }
  if (changed_.empty()) return;
  for (size_t i = 0; i < nested.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!nested.is_alive(id) || nested.value(id).is_captured || !taken.contains(nested.value(id).name)) continue;
    std::string name;
    int suffix = 1;
    do {
      name = cat(nested.value(id).name, "_inner_", suffix++);
    } while (nested.find(name).valid() || taken.contains(name));
    taken.insert(name);
    changed_[id.index] = name;
  }
}

const std::string& ValueNames::of(ir::ValueId id) const {
  if (!id.valid()) return kNoName;
  const auto found = changed_.find(id.index);
  return found == changed_.end() ? graph_.value(id).name : found->second;
}

void put_node(const ir::Node& node, const ValueNames& names, Rests rests, onnx::NodeProto& proto) {
  if (rests == Rests::kKeep) merge_rest(node.extra, proto);
  for (const ir::ValueId input : node.inputs) proto.add_input(names.of(input));
  for (const ir::ValueId output : node.outputs) proto.add_output(names.of(output));
  if (!node.name.empty()) proto.set_name(node.name);
  proto.set_op_type(node.op);
  if (!node.domain.empty()) proto.set_domain(node.domain);
  if (!node.overload.empty()) proto.set_overload(node.overload);
  for (const ir::Attribute& attribute : node.attributes) {
    put_attribute(attribute, {node, names, rests}, *proto.add_attribute());
  }
}

void put_value_info(const ir::Value& value, const std::string& name, Rests rests, onnx::ValueInfoProto& proto) {
  if (rests == Rests::kKeep) merge_rest(value.extra, proto);
  proto.set_name(name);
  put_type(value.type, proto);
}

bool wants_value_info(const ir::Value& value) {
  const ir::ValueType& type = value.type;
  return value.has_info && (type.is_tensor() || type.has_shape || !type.other_type.empty() || !value.extra.empty());
}

void put_initializer_rest(const ir::Value& value, const std::string& name, onnx::TensorProto& proto) {
  merge_rest(value.tensor_extra, proto);
  proto.set_name(name);
}

void put_model_head(const ir::Model& model, onnx::ModelProto& proto) {
  proto.set_ir_version(model.ir_version);
  if (!model.producer_name.empty()) proto.set_producer_name(model.producer_name);
  if (!model.producer_version.empty()) proto.set_producer_version(model.producer_version);
  for (const std::string& domain : model.opset_order) {
    onnx::OperatorSetIdProto& entry = *proto.add_opset_import();
    entry.set_domain(domain);
    entry.set_version(model.opset(domain));
  }
}

void put_graph(const ir::Graph& graph, const ValueNames& names, Rests rests, onnx::GraphProto& proto) {
  merge_rest(graph.extra, proto);
  if (!graph.name.empty()) proto.set_name(graph.name);
  for (const ir::NodeId id : graph.order()) put_node(graph.node(id), names, rests, *proto.add_node());
  for (const ir::ValueId id : graph.initializers()) {
    onnx::TensorProto& tensor = *proto.add_initializer();
    put_initializer_rest(graph.value(id), names.of(id), tensor);
    put_tensor(*graph.value(id).constant, tensor);
  }
  for (const ir::ValueId id : graph.inputs()) put_value_info(graph.value(id), names.of(id), rests, *proto.add_input());
  for (const ir::ValueId id : graph.outputs()) {
    put_value_info(graph.value(id), names.of(id), rests, *proto.add_output());
  }
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id) || !wants_value_info(graph.value(id))) continue;
    put_value_info(graph.value(id), names.of(id), rests, *proto.add_value_info());
  }
}

onnx::ModelProto whole_model(const ir::Model& model) {
  onnx::ModelProto proto;
  merge_rest(model.extra, proto);
  put_model_head(model, proto);
  put_graph(model.graph, ValueNames(model.graph), Rests::kKeep, *proto.mutable_graph());
  return proto;
}

}  // namespace quarkq::onnx_io
