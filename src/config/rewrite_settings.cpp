// SPDX-License-Identifier: MIT
#include "config/rewrite_settings.h"

#include <algorithm>

#include "config/convert.h"
#include "config/load.h"

namespace quarkq::config {

namespace {

std::vector<std::string> texts_of(const Node* list) {
  std::vector<std::string> texts;
  if (list == nullptr) return texts;
  for (const Node& item : list->items()) {
    if (item.is_text()) texts.push_back(item.as_text());
  }
  return texts;
}

}  // namespace

SimplifySettings read_simplify_settings(const Settings& settings) {
  const Node& node = settings.preprocessing.simplify_model_options.node;
  SimplifySettings options;
  for (std::string& step : texts_of(node.find("skip_optimizations"))) options.skipped_steps.insert(std::move(step));
  for (std::string& name : texts_of(node.find("skip_fusion_patterns")))
    options.skipped_patterns.insert(std::move(name));
  options.input_shapes = texts_of(node.find("input_shapes"));
  const Node* threshold = node.find("size_threshold");
  if (threshold != nullptr && threshold->kind() == Node::Kind::kInt) options.size_threshold = threshold->as_int();
  options.merges_computed_shapes = !settings.quirk(Quirk::kFollowShapesThroughAll);
  return options;
}

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
