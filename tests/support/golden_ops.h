// SPDX-License-Identifier: MIT
// The small models of golden/ops in the shared folder: the float nodes that the reference had around its Q and DQ
// nodes, against those of a graph after our float passes.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::test {

inline std::string golden_ops_folder() {
  const char* given = std::getenv("QUARKQ_SHARED");
  return cat(given != nullptr ? given : QUARKQ_SHARED_DIR, "/golden/ops/");
}

/// The record of a case, or null without the shared folder. Its "nodes" are filled in when another case has the same.
inline nlohmann::json golden_op_case(const std::string& model, const std::string& name) {
  std::ifstream in(golden_ops_folder() + cat(model, ".", name, ".json"));
  if (!in) return {};
  nlohmann::json record = nlohmann::json::parse(in);
  if (record.contains("nodes_same_as"))
    record["nodes"] = golden_op_case(model, record["nodes_same_as"].get<std::string>())["nodes"];
  return record;
}

/// The float tensor that a tensor of the quantized model stands for.
inline std::string float_name(std::string name) {
  for (const std::string suffix : {"_DequantizeLinear_Output", "_QuantizeLinear_Input"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name;
}

/// "Op name: inputs -> outputs", Q and DQ left out, sorted: the order is that of another pass.
inline std::vector<std::string> recorded_float_nodes(const nlohmann::json& record) {
  std::vector<std::string> lines;
  for (const nlohmann::json& node : record["nodes"]) {
    const std::string op = node[0];
    if (op == "QuantizeLinear" || op == "DequantizeLinear") continue;
    std::string line = cat(op, " ", node[2].get<std::string>(), ":");
    for (const std::string input : node[3]) line += " " + float_name(input);
    line += " ->";
    for (const std::string output : node[4]) line += " " + float_name(output);
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

inline std::vector<std::string> float_nodes(const ir::Graph& graph) {
  std::vector<std::string> lines;
  const auto name_of = [&](ir::ValueId id) { return cat(" ", id.valid() ? graph.value(id).name : ""); };
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    std::string line = cat(node.op, " ", node.name, ":");
    for (const ir::ValueId input : node.inputs) line += name_of(input);
    line += " ->";
    for (const ir::ValueId output : node.outputs) line += name_of(output);
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace quarkq::test
