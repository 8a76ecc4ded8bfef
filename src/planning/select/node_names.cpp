// SPDX-License-Identifier: MIT
#include "planning/select/node_names.h"

#include "base/suggest.h"

namespace quarkq::planning {
namespace {

std::vector<ir::NodeId> nodes_of_tensor(const ir::Graph& graph, const std::string& name) {
  const ir::ValueId id = graph.find(name);
  if (!id.valid()) return {};
  const ir::Value& value = graph.value(id);
  if (value.producer.valid()) return {value.producer};
  std::vector<ir::NodeId> readers;
  for (const ir::Use& use : value.uses) readers.push_back(use.node);
  return readers;
}

std::vector<std::string> known_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!node.name.empty()) names.push_back(node.name);
    for (const ir::ValueId output : node.outputs) {
      if (output.valid()) names.push_back(graph.value(output).name);
    }
  }
  return names;
}

}  // namespace

std::vector<ir::NodeId> nodes_meant(const ir::Graph& graph, const std::string& name, const config::Settings& settings) {
  std::vector<ir::NodeId> named, labelled;
  for (const ir::NodeId id : graph.order()) {
    if (!name.empty() && graph.node(id).name == name) named.push_back(id);
    if (graph.label(id) == name) labelled.push_back(id);
  }
  if (!named.empty() || !settings.quirk(config::Quirk::kRefuseUnknownNames)) return named;
  return labelled.empty() ? nodes_of_tensor(graph, name) : labelled;
}

Status unknown_name(const ir::Graph& graph, const std::string& name, const std::string& setting,
                    const config::Settings& settings, Diagnostics& diagnostics) {
  const std::string text = "no node or tensor of the model has this name";
  if (settings.quirk(config::Quirk::kRefuseUnknownNames)) {
    return invalid_argument(setting, ": found ", name, ", ", text, did_you_mean(name, known_names(graph)),
                            "; quarkq inspect MODEL --nodes lists the names");
  }
  diagnostics.add("node-unknown", name, cat(setting, ": ", text, "; the entry has no effect"));
  return Status();
}

}  // namespace quarkq::planning
