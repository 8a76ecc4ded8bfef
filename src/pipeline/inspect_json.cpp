// SPDX-License-Identifier: MIT
// The report of inspect() as JSON. Keys and their order are part of the contract.
#include "pipeline/json.h"
#include "pipeline/tensor_json.h"
#include "quarkq/inspect.h"
#include "quarkq/version.h"

namespace quarkq {

using pipeline::Json;
using pipeline::number;
namespace {

Json values_json(const std::vector<InspectValue>& values) {
  Json list = Json::array();
  for (const InspectValue& value : values) list.push_back({{"name", value.name}, {"type", value.type}});
  return list;
}

Json group_json(const QuantizedGroup& group) {
  Json json = {{"kind", group.kind},
               {"type", group.type},
               {"tensors", group.tensors},
               {"per_channel", group.per_channel},
               {"with_scale", group.with_scale},
               {"power_of_two", group.power_of_two}};
  json["positions"] = group.power_of_two == 0 ? Json(nullptr) : Json({group.min_position, group.max_position});
  return json;
}

Json types_json(const std::vector<OperatorTypes>& operators) {
  Json list = Json::array();
  for (const OperatorTypes& row : operators) {
    list.push_back({{"op", row.op}, {"activation", row.activation}, {"weights", row.weights}, {"bias", row.bias}});
  }
  return list;
}

Json types_json(const std::vector<NodeTypes>& nodes) {
  Json list = Json::array();
  const auto type = [](const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); };
  for (const NodeTypes& row : nodes) {
    list.push_back({{"node", row.node},
                    {"op", row.op},
                    {"activation", type(row.activation)},
                    {"weights", type(row.weights)},
                    {"bias", type(row.bias)}});
  }
  return list;
}

Json nodes_json(const std::vector<InspectNode>& nodes) {
  Json list = Json::array();
  for (const InspectNode& node : nodes) {
    list.push_back({{"name", node.name},
                    {"op", node.op},
                    {"inputs", values_json(node.inputs)},
                    {"outputs", values_json(node.outputs)},
                    {"parameters", node.parameters},
                    {"macs", number(node.macs)}});
  }
  return list;
}

}  // namespace

std::string to_json(const InspectReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = report.path;
  json["file_bytes"] = report.file_bytes;
  json["external_bytes"] = report.external_bytes;
  json["ir_version"] = report.ir_version;
  json["opsets"] = Json::object();
  for (const auto& [domain, opset] : report.opsets) json["opsets"][domain] = opset;
  json["producer"] = {{"name", report.producer_name}, {"version", report.producer_version}};
  json["inputs"] = values_json(report.inputs);
  json["outputs"] = values_json(report.outputs);
  json["nodes"] = report.nodes;
  json["nested_nodes"] = report.nested_nodes;
  json["ops"] = report.ops;
  json["parameters"] = {
      {"tensors", report.parameter_tensors}, {"elements", report.parameters}, {"bytes", report.parameter_bytes}};
  json["macs"] = number(report.macs);
  json["unsized_macs"] = report.unsized_macs;
  json["is_quantized"] = !report.qdq_domains.empty();
  json["quantized"] = Json::array();
  for (const QuantizedGroup& group : report.quantized) json["quantized"].push_back(group_json(group));
  json["qdq_domains"] = report.qdq_domains;
  json["op_types"] = types_json(report.op_types);
  if (report.options.nodes) json["node_types"] = types_json(report.node_types);
  if (report.options.nodes) json["node_list"] = nodes_json(report.node_list);
  if (report.options.scales) json["tensors"] = pipeline::quantized_json(report.tensors);
  return pipeline::text(json);
}

}  // namespace quarkq
