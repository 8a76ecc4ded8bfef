// SPDX-License-Identifier: MIT
// quarkq inspect: what a model is, what is quantized and how, as text or JSON.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "quarkq/inspect.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct InspectArgs {
  std::string model_path;
  InspectOptions options;
  std::string why;     ///< tensor or node to explain; empty: none
  std::string config;  ///< for `why`
  std::string json;
  std::vector<std::string> sets;
};

void print_table_line(const std::string& label, const std::string& text) {
  say("%-11s %s\n", label.c_str(), text.c_str());
}

void print_values(const char* label, const std::vector<InspectValue>& values) {
  for (const InspectValue& value : values) {
    print_table_line(&value == &values.front() ? label : "", value.name + " " + value.type);
  }
  if (values.empty()) print_table_line(label, "none");
}

/// "UINT4", "UINT4 in blocks of 32".
std::string type_text(const std::string& type, int64_t block) {
  return block == 0 ? type : cat(type, " in blocks of ", block);
}

std::string scales_text(const QuantizedGroup& group) {
  if (group.block > 0) return "a scale per block";
  if (group.with_scale == 0) return "no scale per tensor or channel";
  if (group.power_of_two == 0) return "no power-of-two scales";
  const bool is_one = group.min_position == 0 && group.max_position == 0;
  if (is_one && group.power_of_two == group.with_scale) return "all scales are 1";
  return cat(group.power_of_two == group.with_scale ? "all" : cat(group.power_of_two, " of ", group.with_scale),
             " scales are powers of two, positions ", group.min_position, " to ", group.max_position);
}

void print_quantized(const InspectReport& report) {
  const char* label = "quantized";
  for (const QuantizedGroup& group : report.quantized) {
    print_table_line(label,
                     cat(group.tensors, " ", group.kind, " ", type_text(group.type, group.block), ", ",
                         group.per_channel == 0 ? "" : cat(group.per_channel, " per channel, "), scales_text(group)));
    label = "";
  }
  std::vector<std::string> domains;
  for (const auto& [domain, nodes] : report.qdq_domains) domains.push_back(cat(domain, " (", nodes, " nodes)"));
  if (domains.empty()) {
    print_table_line("quantized", "nothing");
  } else {
    print_table_line("Q/DQ", join(domains, ", "));
  }
}

void print_inspection(const InspectReport& report) {
  print_table_line("model",
                   cat(report.path, ", ", bytes_text(static_cast<double>(report.file_bytes)),
                       report.external_bytes == 0
                           ? ""
                           : cat(" and ", bytes_text(static_cast<double>(report.external_bytes)), " of external data"),
                       ", IR ", report.ir_version));
  std::vector<std::string> opsets, ops;
  for (const auto& [domain, version] : report.opsets) opsets.push_back(cat(domain, " ", version));
  for (const auto& [op, count] : report.ops) ops.push_back(cat(count, " x ", op));
  print_table_line("opsets", join(opsets, ", "));
  print_table_line("producer", cat(report.producer_name.empty() ? "unnamed" : report.producer_name,
                                   report.producer_version.empty() ? "" : " ", report.producer_version));
  print_values("inputs", report.inputs);
  print_values("outputs", report.outputs);
  print_table_line(
      "nodes",
      cat(report.nodes, report.nested_nodes == 0 ? "" : cat(", and ", report.nested_nodes, " in nested graphs")));
  print_table_line("operators", ops.empty() ? "none" : join(ops, ", "));
  print_table_line("parameters", cat(report.parameters, " in ", report.parameter_tensors, " tensors, ",
                                     bytes_text(static_cast<double>(report.parameter_bytes))));
  std::string macs = report.macs > 0 ? significant(report.macs) + " per sample" : "none";
  if (report.unsized_macs > 0)
    macs = cat("at least ", macs, "; ", report.unsized_macs,
               " layers have no fixed shape (quarkq optimize --shape INPUT=1,3,224,224 fixes them)");
  print_table_line("MACs", macs);
  print_quantized(report);
}

std::string types_text(const std::vector<InspectValue>& values) {
  std::vector<std::string> types;
  types.reserve(values.size());
  for (const InspectValue& value : values) types.push_back(value.type);
  return join(types, " ");
}

void print_nodes(const std::vector<InspectNode>& nodes) {
  say("\n");
  Table table({{"Node"}, {"Operator"}, {"Inputs"}, {"Outputs"}, {"Parameters", kRight}, {"MACs", kRight}});
  for (const InspectNode& node : nodes) {
    const std::string name = node.name.empty() && !node.outputs.empty() ? node.outputs.front().name : node.name;
    table.add({name, node.op, types_text(node.inputs), types_text(node.outputs),
               node.parameters == 0 ? "" : cat(node.parameters), node.macs > 0 ? significant(node.macs) : ""});
  }
  table.print();
}

/// "INT8(3) UINT8(1)".
std::string counted(const std::map<std::string, int>& types) {
  std::vector<std::string> cells;
  cells.reserve(types.size());
  for (const auto& [type, count] : types) cells.push_back(cat(type, "(", count, ")"));
  return join(cells, " ");
}

/// The columns of the reference's table (ref:evaluation#tables).
void print_op_types(const std::vector<OperatorTypes>& operators) {
  say("\n");
  Table table({{"Op Type"}, {"Activation"}, {"Weights"}, {"Bias"}}, " | ");
  for (const OperatorTypes& row : operators) {
    table.add({row.op, counted(row.activation), counted(row.weights), counted(row.bias)});
  }
  table.print();
}

void print_node_types(const std::vector<NodeTypes>& nodes) {
  say("\n");
  Table table({{"Node Name"}, {"Op Type"}, {"Activation"}, {"Weights"}, {"Bias"}}, " | ");
  for (const NodeTypes& row : nodes) table.add({row.node, row.op, row.activation, row.weights, row.bias});
  table.print();
}

/// One value, or smallest and largest of several.
std::string range_text(const std::vector<double>& values) {
  if (values.empty()) return "";
  const auto [low, high] = std::ranges::minmax(values);
  return low == high ? shortest(low) : cat(shortest(low), " .. ", shortest(high));
}

void print_tensors(const std::vector<QuantizedTensor>& tensors) {
  say("\n");
  Table table({{"Tensor"}, {"Kind"}, {"Type"}, {"Axis"}, {"Scale"}, {"Zero Point"}, {"Position"}}, " | ");
  for (const QuantizedTensor& tensor : tensors) {
    std::vector<double> positions;
    for (const double scale : tensor.scales) {
      if (const std::optional<int> position = position_of(scale)) positions.push_back(*position);
    }
    if (positions.size() < tensor.scales.size()) positions.clear();
    table.add({tensor.name, tensor.kind, type_text(tensor.type, tensor.block),
               tensor.axis < 0 ? "" : cat(tensor.axis, " (", tensor.scales.size(), ")"), range_text(tensor.scales),
               range_text(tensor.zero_points), range_text(positions)});
  }
  table.print();
}

void print_all(const InspectReport& report) {
  print_inspection(report);
  if (!report.op_types.empty()) print_op_types(report.op_types);
  if (report.options.nodes) print_nodes(report.node_list);
  if (!report.node_types.empty()) print_node_types(report.node_types);
  if (report.options.scales) print_tensors(report.tensors);
}

void print_explained(const ExplainReport& report) {
  if (!report.note.empty()) say("%s\n", report.note.c_str());
  for (const ExplainedTensor& tensor : report.tensors) {
    say("%s: %s\n", tensor.name.c_str(), tensor.outcome.c_str());
    for (const ExplainStep& step : tensor.steps) say("  %-20s %s\n", step.rule.c_str(), step.text.c_str());
    if (tensor.steps.empty()) say("  %-20s no rule applies to it\n", "selection");
  }
}

Status run_why(const InspectArgs& args) {
  if (args.config.empty()) return invalid_argument("--why: needs --config, because settings decide what is quantized");
  QQ_TRY(const ExplainReport report, explain({args.model_path, args.config, args.sets, args.why}));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  if (args.json != kStdout) print_explained(report);
  return json_file.is_open() ? json_file.write(to_json(report)) : Status();
}

Status run_inspect(const InspectArgs& args) {
  if (!args.why.empty()) return run_why(args);
  if (!args.config.empty() || !args.sets.empty())
    return invalid_argument("--config, --set: apply to --why only; inspect shows the model as it is");
  QQ_TRY(const InspectReport report, inspect(args.model_path, args.options));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  if (args.json != kStdout) print_all(report);
  return json_file.is_open() ? json_file.write(to_json(report)) : Status();
}

}  // namespace

Run setup_inspect(CLI::App& app) {
  auto args = std::make_shared<InspectArgs>();
  app.add_option("MODEL", args->model_path, "Float or quantized ONNX model")->required();
  app.add_flag("--nodes", args->options.nodes,
               "Also every node: name, operator, shapes, parameters, MACs, and the types that quantized ones read");
  app.add_flag("--scales", args->options.scales, "Also scale, zero point and position of each quantized tensor");
  app.add_option("--why", args->why,
                 "Explain why this tensor, or the tensors of this node, are quantized or stay float")
      ->type_name("NAME");
  app.add_option("-c,--config", args->config, "With --why: preset, or settings file")->type_name("FILE|PRESET");
  app.add_option("--set", args->sets, "With --why: a setting, stronger than the file; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_json_option(app, args->json);
  return [args] { return run_inspect(*args); };
}

}  // namespace quarkq::tool
