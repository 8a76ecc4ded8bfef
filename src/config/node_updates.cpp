// SPDX-License-Identifier: MIT
#include "config/node_updates.h"

#include <algorithm>

#include "config/convert.h"
#include "config/load.h"

namespace quarkq::config {
namespace {

bool holds_only(const Node& list, Node::Kind kind) {
  return !list.items().empty() &&
         std::ranges::all_of(list.items(), [&](const Node& item) { return item.kind() == kind; });
}

AttributeUpdate update_value(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kInt: return node.as_int();
    case Node::Kind::kReal: return static_cast<float>(node.as_real());
    case Node::Kind::kText: return node.as_text();
    default: break;
  }
  if (holds_only(node, Node::Kind::kInt)) return Convert<std::vector<int64_t>>::from(node).value();
  if (holds_only(node, Node::Kind::kText)) return Convert<std::vector<std::string>>::from(node).value();
  if (!holds_only(node, Node::Kind::kReal)) return {};
  std::vector<float> values;
  for (const Node& item : node.items()) values.push_back(static_cast<float>(item.as_real()));
  return values;
}

Result<NodeUpdate> read_update(const Node& node) {
  QQ_RETURN_IF_ERROR(check_keys(node, "updates", {"node_name", "attributes"}));
  const Node *name = node.find("node_name"), *attributes = node.find("attributes");
  if (name == nullptr || !name->is_text() || attributes == nullptr || !attributes->is_map())
    return invalid_argument("updates: found ", to_flow(node), ", allowed is {node_name: N, attributes: {A: V}}");
  NodeUpdate update{name->as_text(), {}};
  for (const Node::Entry& entry : attributes->entries())
    update.attributes.emplace_back(entry.key, update_value(entry.value));
  return update;
}

}  // namespace

Result<std::vector<NodeUpdate>> parse_node_updates(const std::string& text) {
  QQ_TRY(const Node root, parse_text(text, "updates"));
  if (!root.is_list()) return wrong_kind(root, "a list of updates").context("updates");
  std::vector<NodeUpdate> updates;
  for (const Node& item : root.items()) {
    QQ_TRY(NodeUpdate update, read_update(item));
    updates.push_back(std::move(update));
  }
  return updates;
}

}  // namespace quarkq::config
