// SPDX-License-Identifier: MIT
// Quantized models as golden/ops records them, as graphs: to run a pass on what the reference had before it, and to
// compare with what it had after it. Stored values that are not recorded are made up.
#pragma once

#include <string>
#include <vector>

#include "ir/edit.h"
#include "support/golden_ops.h"

namespace quarkq::test {

/// Types and scales that records do not spell out.
struct RecordedModel {
  ElementType real = ElementType::kFloat;
  float scale = 1;
};

namespace golden {

inline ir::Tensor stored_tensor(const nlohmann::json& description) {
  const ElementType type = *element_type_from_name(description[0].get<std::string>());
  ir::Tensor tensor = ir::Tensor::zeros(type, description[1].get<ir::Shape>());
  if (type != ElementType::kFloat) return tensor;
  const nlohmann::json& values = description[2];
  auto to = tensor.mutable_data<float>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = values.is_array() ? values[i].get<float>() : 0.25f;
  return tensor;
}

inline ir::Tensor real_scalar(ElementType type, const ir::Shape& dims, float value) {
  if (type == ElementType::kFloat) return ir::Tensor::from<float>(dims, std::vector<float>{value});
  ir::Tensor tensor = ir::Tensor::zeros(type, dims);
  tensor.mutable_data<uint16_t>()[0] = 0x3C00;  // float16 1.0
  return tensor;
}

/// An initializer that node `node` of the record reads.
inline ir::Tensor initializer(const nlohmann::json& record, const nlohmann::json& node, const std::string& name,
                              const RecordedModel& how) {
  if (record["stored"].contains(name)) return stored_tensor(record["stored"][name]);
  const bool is_bias = name.find("_quantized_") != std::string::npos;
  if (name.ends_with("_scale")) return real_scalar(how.real, is_bias ? ir::Shape{1} : ir::Shape{}, how.scale);
  const bool is_extended = node[0].get<std::string>().starts_with("Extended");
  const ElementType type = is_extended ? ElementType::kBFloat16 : (is_bias ? ElementType::kInt32 : ElementType::kInt8);
  return ir::Tensor::zeros(type, {});
}

inline ir::Attribute attribute(const std::string& name, const nlohmann::json& value) {
  if (value.is_number_integer()) return {name, value.get<int64_t>(), {}, {}};
  if (value.is_number()) return {name, value.get<float>(), {}, {}};
  if (value.is_string()) return {name, value.get<std::string>(), {}, {}};
  if (!value.empty() && value[0].is_string()) return {name, stored_tensor(value), {}, {}};
  return {name, value.get<std::vector<int64_t>>(), {}, {}};
}

}  // namespace golden

/// The graph that `record` describes.
inline ir::Model model_of_record(const nlohmann::json& record, const RecordedModel& how = {}) {
  ir::Model model;
  model.ir_version = record["ir_version"];
  for (const auto& [domain, version] : record["opsets"].items())
    model.set_opset(domain == "ai.onnx" ? "" : domain, version);
  ir::GraphEdit edit(model.graph);
  const auto type_of = [](const nlohmann::json& described) {
    ir::ValueType type{static_cast<ElementType>(described[1].get<int>()), true, {}, {}};
    for (const auto& dim : described[2]) type.dims.push_back({dim.get<int64_t>(), {}});
    return type;
  };
  for (const auto& input : record["graph_inputs"]) edit.add_graph_input(edit.add_value(input[0], type_of(input)));
  for (const auto& node : record["nodes"]) {
    for (const std::string output : node[4]) edit.add_value(output, {how.real, false, {}, {}});
  }
  for (const auto& node : record["nodes"]) {
    ir::NodeSpec spec{node[0], node[1], node[2], {}, {}};
    for (const std::string input : node[3]) {
      if (!input.empty() && !model.graph.find(input).valid())
        edit.add_initializer(input, golden::initializer(record, node, input, how));
      spec.inputs.push_back(input.empty() ? ir::ValueId{} : model.graph.find(input));
    }
    for (const std::string output : node[4]) spec.outputs.push_back(model.graph.find(output));
    for (const auto& [name, value] : node[5].items()) spec.attributes.push_back(golden::attribute(name, value));
    const bool quantizes = spec.op.ends_with("QuantizeLinear") && !spec.op.ends_with("DequantizeLinear");
    if (quantizes) edit.mutable_value(spec.outputs[0]).type.element = model.graph.constant(spec.inputs[2])->type();
    edit.add_node(std::move(spec));
  }
  for (const auto& output : record["graph_outputs"]) {
    const ir::ValueId id = model.graph.find(output[0].get<std::string>());
    edit.set_type(id, type_of(output));
    edit.add_graph_output(id);
  }
  return model;
}

/// "domain::Op name: inputs -> outputs" of each node, in order.
inline std::vector<std::string> recorded_nodes(const nlohmann::json& record) {
  std::vector<std::string> lines;
  for (const auto& node : record["nodes"]) {
    std::string line =
        cat(node[1].get<std::string>(), "::", node[0].get<std::string>(), " ", node[2].get<std::string>(), ":");
    for (const std::string input : node[3]) line += " " + input;
    line += " ->";
    for (const std::string output : node[4]) line += " " + output;
    lines.push_back(line);
  }
  return lines;
}

inline std::vector<std::string> nodes_in_order(const ir::Graph& graph) {
  std::vector<std::string> lines;
  const auto name_of = [&](ir::ValueId id) { return cat(" ", id.valid() ? graph.value(id).name : ""); };
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    std::string line = cat(node.domain, "::", node.op, " ", node.name, ":");
    for (const ir::ValueId input : node.inputs) line += name_of(input);
    line += " ->";
    for (const ir::ValueId output : node.outputs) line += name_of(output);
    lines.push_back(line);
  }
  return lines;
}

}  // namespace quarkq::test
