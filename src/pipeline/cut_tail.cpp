// SPDX-License-Identifier: MIT
#include "pipeline/cut_tail.h"

#include <algorithm>
#include <filesystem>

#include "ir/edit.h"
#include "ir/tail.h"
#include "onnx_io/save.h"

namespace quarkq::pipeline {
namespace {

/// Outputs of the graph that a node of the tail makes, or the others.
std::vector<ir::ValueId> outputs_of(const ir::Graph& graph, const ir::Tail& tail, bool by_tail) {
  std::vector<ir::ValueId> found;
  for (const ir::ValueId output : graph.outputs()) {
    const ir::Node* source = graph.producer(output);
    if ((source != nullptr && tail.nodes.contains(source->id)) == by_tail) found.push_back(output);
  }
  return found;
}

/// Only the tail, which reads from inputs what others made.
ir::Model tail_alone(const ir::Model& whole, const ir::Tail& tail) {
  ir::Model model = whole;
  ir::GraphEdit edit(model.graph);
  edit.set_graph_outputs(outputs_of(whole.graph, tail, true));
  for (const ir::ValueId input : tail.inputs) {
    const ir::Node* source = model.graph.producer(input);
    if (source == nullptr) continue;  // an input of the whole model
    const auto place = std::find(source->outputs.begin(), source->outputs.end(), input) - source->outputs.begin();
    edit.set_output(source->id, static_cast<size_t>(place), {});
    edit.add_graph_input(input);
  }
  edit.remove_dead();
  for (const ir::ValueId input : model.graph.required_inputs()) {
    if (model.graph.use_count(input) == 0) edit.remove_value(input);
  }
  model.graph.name += "_tail";
  return model;
}

std::string names_of(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ir::ValueId value : values) names.push_back(graph.value(value).name);
  return join(names, ", ");
}

}  // namespace

std::optional<ir::Model> cut_tail(ir::Model& model, const config::Settings& settings, Diagnostics& diagnostics) {
  if (!settings.cuts_tail()) return std::nullopt;
  const ir::Tail tail = ir::find_tail(model.graph);
  if (tail.nodes.empty()) {
    diagnostics.add("no-tail", "legalize.tail", "nothing is decoded after the last layers; the model stays whole");
    return std::nullopt;
  }
  ir::Model alone = tail_alone(model, tail);
  ir::GraphEdit edit(model.graph);
  std::vector<ir::ValueId> outputs = outputs_of(model.graph, tail, false);
  for (const ir::ValueId input : tail.inputs) {
    const bool is_made = model.graph.producer(input) != nullptr;
    if (is_made && std::find(outputs.begin(), outputs.end(), input) == outputs.end()) outputs.push_back(input);
  }
  edit.set_graph_outputs(outputs);
  edit.remove_dead();
  diagnostics.add("tail-cut", "legalize.tail",
                  cat("the model ends before its last ", tail.nodes.size(), " nodes; its outputs are ",
                      names_of(model.graph, outputs)));
  return alone;
}

Status check_tail(const Job& job, bool in_memory) {
  if (!job.tail || !in_memory) return Status();
  return unsupported("legalize.tail: cut makes two models; give an output path, or float, or keep");
}

Result<std::string> save_tail(const Job& job, const std::string& result_path) {
  if (!job.tail) return std::string();
  const std::filesystem::path path(result_path);
  const std::string tail = (path.parent_path() / (path.stem().string() + "_tail" + path.extension().string())).string();
  QQ_RETURN_IF_ERROR(onnx_io::save(*job.tail, tail).status());
  return tail;
}

}  // namespace quarkq::pipeline
