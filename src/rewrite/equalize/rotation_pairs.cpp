// SPDX-License-Identifier: MIT
#include "rewrite/equalize/rotation_pairs.h"

#include <map>

#include "config/rotation_config.h"

namespace quarkq::rewrite {
namespace {

using NodesByName = std::map<std::string, ir::NodeId, std::less<>>;

Result<ir::NodeId> find_node(const std::string& name, const NodesByName& nodes) {
  const auto found = nodes.find(name);
  if (found == nodes.end()) return invalid_argument("no node is called '", name, "'");
  return found->second;
}

Result<std::vector<ir::NodeId>> find_nodes(const std::vector<std::string>& names, const NodesByName& nodes) {
  std::vector<ir::NodeId> found;
  for (const std::string& name : names) {
    QQ_TRY(const ir::NodeId id, find_node(name, nodes));
    found.push_back(id);
  }
  return found;
}

Result<RotationPair> find_pair(const config::RotationEntry& entry, const NodesByName& nodes) {
  RotationPair pair;
  pair.label = entry.label;
  QQ_TRY(pair.previous, find_nodes(entry.previous, nodes).context("prev_nodes"));
  QQ_TRY(pair.next, find_nodes(entry.next, nodes).context("next_nodes"));
  if (entry.norm) {
    QQ_TRY(pair.norm, find_node(*entry.norm, nodes).context("norm_node"));
  }
  return pair;
}

}  // namespace

Result<std::vector<RotationPair>> read_rotation_pairs(const std::string& path, const ir::Graph& graph) {
  QQ_TRY(const std::vector<config::RotationEntry> entries, config::load_rotation_config(path));
  NodesByName nodes;
  for (const ir::NodeId id : graph.order()) nodes.emplace(graph.node(id).name, id);
  std::vector<RotationPair> pairs;
  for (const config::RotationEntry& entry : entries) {
    QQ_TRY(RotationPair pair, find_pair(entry, nodes).context(entry.label));
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace quarkq::rewrite
