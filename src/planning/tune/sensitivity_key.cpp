// SPDX-License-Identifier: MIT
#include "planning/tune/sensitivity_key.h"

#include <vector>

#include "base/file_system.h"
#include "base/hash.h"
#include "base/strings.h"

namespace quarkq::planning {
namespace {

std::string names_of_values(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ir::ValueId value : values) names.push_back(value.valid() ? graph.value(value).name : "");
  return join(names, ",");
}

}  // namespace

std::string sensitivity_key(const ir::Graph& graph, const config::MixedSettings& options) {
  ContentHash hash;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    hash.add(cat(node.name, "|", node.op, "|", names_of_values(graph, node.inputs), "|",
                 names_of_values(graph, node.outputs)));
  }
  for (const std::string& layer : options.target_texts) hash.add(layer);
  for (const auto* names : {&options.target_ops, &options.include, &options.exclude}) hash.add(join(*names, ","));
  hash.add(cat(static_cast<int>(options.metric), " ", options.output_index, " ", options.data_size, " ",
               options.unshares, " ", options.skip_shared_inputs, " ", options.dual_pairs));
  if (!options.subgraph_file.empty()) {
    const Result<std::string> groups = read_text_file(options.subgraph_file);
    hash.add(groups.ok() ? groups.value() : options.subgraph_file);
  }
  return hash.text();
}

}  // namespace quarkq::planning
