// SPDX-License-Identifier: MIT
#include "config/rotation_config.h"

#include "config/load.h"

namespace quarkq::config {
namespace {

Result<std::string> node_name(const Node& name) {
  if (!name.is_text()) return invalid_argument("a node's name is expected, found ", describe(name));
  return name.as_text();
}

Result<std::vector<std::string>> node_names(const Node& pair, const char* key) {
  const Node* names = pair.find(key);
  if (names == nullptr || !names->is_list()) {
    return invalid_argument(key, ": a list of node names is expected, found ",
                            names == nullptr ? "nothing" : describe(*names));
  }
  std::vector<std::string> found;
  for (const Node& item : names->items()) {
    QQ_TRY(std::string name, node_name(item).context(key));
    found.push_back(std::move(name));
  }
  return found;
}

Result<RotationEntry> read_rotation_entry(const Node& entry) {
  if (!entry.is_map()) return invalid_argument("a map is expected, found ", describe(entry));
  for (const Node::Entry& item : entry.entries()) {
    if (item.key != "prev_nodes" && item.key != "norm_node" && item.key != "next_nodes") {
      return invalid_argument("unknown key '", item.key, "', allowed are prev_nodes, norm_node, next_nodes");
    }
  }
  RotationEntry made;
  QQ_TRY(made.previous, node_names(entry, "prev_nodes"));
  QQ_TRY(made.next, node_names(entry, "next_nodes"));
  if (const Node* norm = entry.find("norm_node"); norm != nullptr && !norm->is_null()) {
    QQ_TRY(made.norm, node_name(*norm).context("norm_node"));
  }
  return made;
}

}  // namespace

Result<std::vector<RotationEntry>> load_rotation_config(const std::string& path) {
  QQ_TRY(const Node document, load_file(path));
  const Node* list = document.find("R1_pairs");
  if (list == nullptr || !list->is_list()) {
    return invalid_argument(path, ": R1_pairs: a list of pairs is expected, found ",
                            list == nullptr ? "nothing" : describe(*list));
  }
  std::vector<RotationEntry> entries;
  for (const Node& item : list->items()) {
    const std::string label = cat(path, ": R1_pairs[", entries.size(), "]");
    QQ_TRY(RotationEntry entry, read_rotation_entry(item).context(label));
    entry.label = label;
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace quarkq::config
