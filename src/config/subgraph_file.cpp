// SPDX-License-Identifier: MIT
#include "config/subgraph_file.h"

#include <algorithm>

#include "config/convert.h"
#include "config/load.h"
#include "config/option_map.h"

namespace quarkq::config {
namespace {

Result<NodeGroup> read_group(const Node& node, const std::string& path) {
  const std::string where = node.mark().prefix() + path;
  QQ_RETURN_IF_ERROR(check_keys(node, path, {"name", "start_nodes", "end_nodes", "description", "quantized"}));
  const OptionMap map(node, path.c_str());
  NodeGroup group;
  QQ_RETURN_IF_ERROR(map.take("name", group.name));
  QQ_RETURN_IF_ERROR(map.take("start_nodes", group.starts));
  QQ_RETURN_IF_ERROR(map.take("end_nodes", group.ends));
  if (group.name.empty()) return invalid_argument(where, ": needs a name");
  if (group.starts.empty()) return invalid_argument(where, ": needs start_nodes, a list of node names");
  return group;
}

Status check_count(const Node& root, size_t found) {
  const Node* count = root.find("num_subgraphs");
  if (count == nullptr || count->is_null()) return {};
  QQ_TRY(const int64_t wanted, read<int64_t>(*count, "num_subgraphs"));
  if (wanted == static_cast<int64_t>(found)) return {};
  return invalid_argument(count->mark().prefix(), "num_subgraphs: found ", wanted, ", but the list has ", found);
}

}  // namespace

Result<std::vector<NodeGroup>> load_subgraphs(const std::string& path) {
  QQ_TRY(const Node root, load_file(path));
  if (!root.is_map()) return wrong_kind(root, "a map with subgraphs").context(path);
  QQ_RETURN_IF_ERROR(check_keys(root, "", {"quantized", "num_subgraphs", "subgraphs"}).context(path));
  const Node* list = root.find("subgraphs");
  if (list == nullptr || !list->is_list()) return invalid_argument(path, ": needs subgraphs, a list");
  std::vector<NodeGroup> groups;
  for (size_t i = 0; i < list->items().size(); ++i) {
    QQ_TRY(NodeGroup group, read_group(list->items()[i], cat("subgraphs[", i, "]")));
    const bool is_known = std::ranges::any_of(groups, [&](const NodeGroup& other) { return other.name == group.name; });
    if (is_known) return invalid_argument(path, ": two subgraphs are named ", group.name);
    groups.push_back(std::move(group));
  }
  QQ_RETURN_IF_ERROR(check_count(root, groups.size()));
  return groups;
}

}  // namespace quarkq::config
