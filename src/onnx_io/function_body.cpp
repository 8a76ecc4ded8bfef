// SPDX-License-Identifier: MIT
// A model of the one node is made and the library's inliner applied to it, which fills in attributes and leaves out
// absent inputs.
#include "onnx_io/function_body.h"

#include "onnx_io/export_graph.h"
#include "onnx_io/library.h"
#include "onnx_io/model_proto.h"

namespace quarkq::onnx_io {
namespace {

void put_tensor_type(const ir::Tensor& tensor, bool with_shape, onnx::TypeProto& type) {
  auto& proto = *type.mutable_tensor_type();
  proto.set_elem_type(static_cast<int32_t>(tensor.type()));
  if (!with_shape) return;
  proto.mutable_shape();
  for (const int64_t dim : tensor.dims()) proto.mutable_shape()->add_dim()->set_dim_value(dim);
}

void put_operand_type(const ir::Operand& operand, onnx::TypeProto& type) {
  if (operand.is_tensor()) {
    put_tensor_type(operand.tensor, true, type);
  } else if (operand.is_sequence()) {
    onnx::TypeProto& element = *type.mutable_sequence_type()->mutable_elem_type();
    const ir::Tensor first = operand.sequence.empty() ? ir::Tensor::scalar(0.0f) : operand.sequence.front();
    put_tensor_type(first, false, element);
  } else {
    put_tensor_type(ir::Tensor::scalar(0.0f), false, *type.mutable_optional_type()->mutable_elem_type());
  }
}

/// A model whose graph holds `node` alone. Its inputs are called i0, i1, ..., its outputs o0, o1, ...; captured values
/// keep their names.
/// `types` gets an entry per node input.
onnx::ModelProto model_of(const ir::Graph& graph, const ir::Node& node, const std::map<std::string, int64_t>& opsets,
                          const std::vector<const ir::Operand*>& operands, std::vector<onnx::TypeProto>& types) {
  onnx::ModelProto model;
  model.set_ir_version(kNewestIrVersion);
  for (const auto& [domain, version] : opsets) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name("body");
  const ValueNames names(graph);
  onnx::NodeProto& call = *proto.add_node();
  put_node(node, names, Rests::kLeaveOut, call);
  call.clear_name();
  size_t operand = 0;
  const auto add_input = [&](const std::string& name) {
    onnx::ValueInfoProto& info = *proto.add_input();
    info.set_name(name);
    put_operand_type(*operands[operand++], *info.mutable_type());
  };
  types.resize(static_cast<size_t>(call.input_size()));
  for (int i = 0; i < call.input_size(); ++i) {
    if (call.input(i).empty()) continue;
    call.set_input(i, cat("i", i));
    add_input(call.input(i));
    types[static_cast<size_t>(i)] = proto.input(proto.input_size() - 1).type();
  }
  for (const ir::Capture& capture : node.captures) add_input(names.of(capture.outer));
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    call.set_output(i, cat("o", i));
    proto.add_output()->set_name(call.output(i));
  }
  return model;
}

}  // namespace

Result<std::shared_ptr<const ir::Model>> function_body(const ir::Graph& graph, ir::NodeId id,
                                                       const std::map<std::string, int64_t>& opsets,
                                                       const std::vector<const ir::Operand*>& inputs) {
  const ir::Node& node = graph.node(id);
  std::vector<onnx::TypeProto> types;
  onnx::ModelProto proto = model_of(graph, node, opsets, inputs, types);
  QQ_TRY(const bool found, library_inline_only_node(proto, types));
  if (!found) return std::shared_ptr<const ir::Model>();
  QQ_TRY(ir::Model body, import_own_model(proto));
  return std::make_shared<const ir::Model>(std::move(body));
}

}  // namespace quarkq::onnx_io
