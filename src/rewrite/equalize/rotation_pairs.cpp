// SPDX-License-Identifier: MIT
#include "rewrite/equalize/rotation_pairs.h"

#include <map>

#include "config/load.h"

namespace quarkq::rewrite {
namespace {

using NodesByName = std::map<std::string, ir::NodeId, std::less<>>;

Result<ir::NodeId> find_node(const config::Node& name, const NodesByName& nodes) {
  if (!name.is_text()) return invalid_argument("a node's name is expected, found ", config::describe(name));
  const auto found = nodes.find(name.as_text());
  if (found == nodes.end()) return invalid_argument("no node is called '", name.as_text(), "'");
  return found->second;
}

Result<std::vector<ir::NodeId>> find_nodes(const config::Node& pair, const char* key, const NodesByName& nodes) {
  const config::Node* names = pair.find(key);
  if (names == nullptr || !names->is_list()) {
    return invalid_argument(key, ": a list of node names is expected, found ",
                            names == nullptr ? "nothing" : config::describe(*names));
  }
  std::vector<ir::NodeId> found;
  for (const config::Node& name : names->items()) {
    QQ_TRY(const ir::NodeId id, find_node(name, nodes).context(key));
    found.push_back(id);
  }
  return found;
}

Result<RotationPair> read_pair(const config::Node& entry, const NodesByName& nodes) {
  if (!entry.is_map()) return invalid_argument("a map is expected, found ", config::describe(entry));
  for (const config::Node::Entry& item : entry.entries()) {
    if (item.key != "prev_nodes" && item.key != "norm_node" && item.key != "next_nodes") {
      return invalid_argument("unknown key '", item.key, "', allowed are prev_nodes, norm_node, next_nodes");
    }
  }
  RotationPair pair;
  QQ_TRY(pair.previous, find_nodes(entry, "prev_nodes", nodes));
  QQ_TRY(pair.next, find_nodes(entry, "next_nodes", nodes));
  if (const config::Node* norm = entry.find("norm_node"); norm != nullptr && !norm->is_null()) {
    QQ_TRY(pair.norm, find_node(*norm, nodes).context("norm_node"));
  }
  return pair;
}

}  // namespace

Result<std::vector<RotationPair>> read_rotation_pairs(const std::string& path, const ir::Graph& graph) {
  QQ_TRY(const config::Node document, config::load_file(path));
  const config::Node* list = document.find("R1_pairs");
  if (list == nullptr || !list->is_list()) {
    return invalid_argument(path, ": R1_pairs: a list of pairs is expected, found ",
                            list == nullptr ? "nothing" : config::describe(*list));
  }
  NodesByName nodes;
  for (const ir::NodeId id : graph.order()) nodes.emplace(graph.node(id).name, id);
  std::vector<RotationPair> pairs;
  for (const config::Node& entry : list->items()) {
    const std::string label = cat(path, ": R1_pairs[", pairs.size(), "]");
    Result<RotationPair> pair = read_pair(entry, nodes).context(label);
    if (!pair.ok()) return pair.status();
    pairs.push_back(std::move(pair).value());
    pairs.back().label = label;
  }
  return pairs;
}

}  // namespace quarkq::rewrite
