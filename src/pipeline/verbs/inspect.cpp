// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "ir/dump.h"
#include "ir/graph_analysis.h"
#include "ir/quantizing_ops.h"
#include "ir/traversal.h"
#include "onnx_io/infer.h"
#include "pipeline/report/inspect_quantized.h"
#include "pipeline/report/json.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "quarkq/inspect.h"
#include "quarkq/status.h"

namespace quarkq {

namespace {

std::string domain_name(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::vector<InspectValue> describe_model(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<InspectValue> described;
  for (const ir::ValueId id : values) {
    const ir::Value& value = graph.value(id);
    described.push_back({value.name, value.type.is_tensor() ? ir::type_text(value.type) : "not a tensor"});
  }
  return described;
}

void count_parameters(const ir::Graph& graph, InspectReport& report) {
  for (const ir::ValueId id : graph.initializers()) {
    const ir::Tensor& tensor = *graph.value(id).constant;
    ++report.parameter_tensors;
    report.parameters += static_cast<uint64_t>(tensor.size());
    report.parameter_bytes += static_cast<uint64_t>(tensor.bytes());
  }
}

std::vector<ir::ValueId> given(const std::vector<ir::ValueId>& values) {
  std::vector<ir::ValueId> given;
  std::ranges::copy_if(values, std::back_inserter(given), [](ir::ValueId id) { return id.valid(); });
  return given;
}

std::vector<InspectNode> list_nodes(const ir::Graph& graph) {
  std::vector<InspectNode> rows;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    InspectNode row{node.name, ir::full_op_name(node), {}, {}, 0, 0};
    row.inputs = describe_model(graph, given(node.inputs));
    row.outputs = describe_model(graph, given(node.outputs));
    row.macs = ir::macs_of(graph, node);
    for (const ir::ValueId input : given(node.inputs)) {
      if (const ir::Tensor* stored = graph.constant(input)) row.parameters += static_cast<uint64_t>(stored->size());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Bodies of If, Loop and Scan, at any depth. Nesting is bounded by the loader.
void count_nested(const ir::Graph& graph, InspectReport& report) {
  for (const ir::NodeId id : graph.order()) {
    for (const ir::Graph* body : ir::nested_graphs(graph.node(id))) {
      report.nested_nodes += body->order().size();
      count_parameters(*body, report);
      count_nested(*body, report);
    }
  }
}

Result<InspectReport> inspect_file(const pipeline::ModelFile& file, const InspectOptions& options) {
  InspectReport report;
  onnx_io::LoadReport loaded;
  QQ_TRY(ir::Model model, pipeline::load_model(file, &loaded));
  report.external_bytes = loaded.external_bytes;
  report.path = file.path;
  report.file_bytes = file.is_in_memory() ? (*file.bytes)->size() : pipeline::file_size(file.path);
  report.ir_version = model.ir_version;
  for (const auto& [domain, version] : model.opsets) report.opsets.emplace_back(domain_name(domain), version);
  report.producer_name = model.producer_name;
  report.producer_version = model.producer_version;
  report.inputs = describe_model(model.graph, model.graph.required_inputs());
  report.outputs = describe_model(model.graph, model.graph.outputs());
  report.nodes = model.graph.order().size();
  report.ops = pipeline::count_ops(model.graph);
  count_parameters(model.graph, report);
  count_nested(model.graph, report);
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, ignored));
  report.macs = ir::macs_of(model.graph);
  report.unsized_macs = ir::count_unsized_macs(model.graph);
  if (options.nodes) report.node_list = list_nodes(model.graph);
  report.options = options;
  report.tensors = pipeline::list_quantized(model.graph);
  report.quantized = pipeline::group_quantized(report.tensors);
  if (!options.scales) report.tensors.clear();
  report.node_types = pipeline::node_types(model.graph);
  report.op_types = pipeline::types_by_operator(report.node_types);
  if (!options.nodes) report.node_types.clear();
  for (const ir::NodeId id : model.graph.order()) {
    const ir::Node& node = model.graph.node(id);
    if (ir::quantizing_part(&node) != ir::QuantizingPart::kNone) ++report.qdq_domains[domain_name(node.domain)];
  }
  return report;
}

}  // namespace

Result<InspectReport> inspect(const std::string& path, const InspectOptions& options) {
  return inspect_file(path, options);
}

Result<InspectReport> inspect_bytes(const std::string& model, const std::string& name, const InspectOptions& options) {
  const std::optional<std::string> bytes = model;
  return inspect_file({name, bytes}, options);
}

// The report of inspect() as JSON. Keys and their order are part of the contract.

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
               {"block", group.block == 0 ? Json(nullptr) : Json(group.block)},
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
