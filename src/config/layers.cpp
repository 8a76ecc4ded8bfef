// SPDX-License-Identifier: MIT
// Layers of settings are value trees until they are merged. Which keys are merged by their inner keys is a table for
// the top of a file and one for options.
#include "config/layers.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "config/fields.h"
#include "config/load.h"

namespace quarkq::config {

namespace {

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A key at the top of a settings file.
struct TopKey {
  enum Merged { kByKey, kWhole };

  const char* key;
  Merged merged;
  const char* flag;  ///< option of the command line of the same meaning
};

constexpr TopKey kTopKeys[] = {
#define TOP(key, merged, flag) {#key, TopKey::merged, flag},
#define BLOCK(key, Type, member) {#key, TopKey::kByKey, ""},
#define END_BLOCK(member)
#include "config/blocks.def"
};

/// Other names of keys at the top of a settings file.
constexpr struct { std::string_view alias, key; } kAliases[] = {{"guards", "quarkq.guards"}, {"extends", "preset"}};

bool is_block_name(std::string_view key) {
  return std::ranges::any_of(kTopKeys,
                             [&](const TopKey& row) { return row.key == key && row.merged == TopKey::kByKey; });
}

/// Maps whose entries are settings of their own.
bool is_merged(std::string_view block, std::string_view key) {
  if (block == "legalize") return key == "shapes";
  return block == "extra_options" && contains({"FastFinetune", "AutoMixprecision", "GPTQParams", "MatMulNBitsParams",
                                               "BFPAttributes", "MXAttributes", "TensorQuantOverrides"},
                                              key);
}

/// Returns `below` with `entry` laid over it. `by_inner_key`: maps on both sides are merged one level deeper.
Node lay_entry(const Node& below, const Node::Entry& entry, bool by_inner_key) {
  const Node* old = below.find(entry.key);
  if (entry.value.is_null() && old != nullptr) return below.without(entry.key);
  if (!by_inner_key || old == nullptr || !old->is_map() || !entry.value.is_map()) {
    return below.with(entry.key, entry.value, entry.key_mark);
  }
  Node inner = *old;
  for (const Node::Entry& item : entry.value.entries()) inner = lay_entry(inner, item, /*by_inner_key=*/false);
  return below.with(entry.key, inner.at(entry.value.mark()), entry.key_mark);
}

/// How QuantConfig::origins names a key of a block.
std::string origin_key(const std::string& block, const std::string& key) {
  return block == "quant_config" || block == "extra_options" ? key : block + "." + key;
}

void lay_block(const Node::Entry& block, Origin origin, Merged& merged) {
  const Node* old = merged.values.find(block.key);
  Node result = old != nullptr && old->is_map() ? *old : Node(Node::Map{});
  for (const Node::Entry& entry : block.value.entries()) {
    result = lay_entry(result, entry, is_merged(block.key, entry.key));
    const std::string name = origin_key(block.key, entry.key);
    if (result.find(entry.key) == nullptr) {
      merged.origins.erase(name);
    } else {
      merged.origins[name] = origin;
    }
  }
  merged.values = merged.values.with(block.key, result.at(block.value.mark()), block.key_mark);
}

/// Returns the block of a field or an option, and null for other names.
const char* home_of(const std::string& name) {
  if (find_field_key(name) != nullptr) return "extra_options";
  const Field* field = find_field(name);
  return field == nullptr || field->is_of_block() ? nullptr : field->block;
}

/// Returns the setting with this option of the command line ("legalize.shapes" for "--shape"), or "".
std::string key_of_flag(const std::string& flag) {
  for (const TopKey& row : kTopKeys)
    if (row.flag == flag) return row.key;
  for (const Field& field : all_fields())
    if (field.flag == flag) return field.name;
  return "";
}

/// A setting one level too high is the most frequent mistake in a file.
Status check_top_level(const Node& values) {
  const std::vector<std::string> top = top_level_keys();
  for (const Node::Entry& entry : values.entries()) {
    if (std::find(top.begin(), top.end(), entry.key) != top.end()) continue;
    if (const char* home = home_of(entry.key))
      return invalid_argument(entry.key_mark.prefix(), entry.key, ": found at the top level, it belongs below ", home);
  }
  return check_keys(values, "", top);
}

/// A bare name's full path: an option, a field, or a top-level key.
Result<std::vector<std::string>> full_path(const std::string& key) {
  std::vector<std::string> path = split(key, '.');
  const std::vector<std::string> top = top_level_keys();
  if (std::find(top.begin(), top.end(), path.front()) != top.end()) return path;
  if (const char* home = home_of(path.front())) {
    path.insert(path.begin(), home);
    return path;
  }
  // The reference's documents use this name, but the reference stores the attribute and ignores it.
  if (path.front() == "exclude_nodes")
    return invalid_argument("--set ", key, ": unknown setting, did you mean nodes_to_exclude?");
  std::vector<std::string> known = option_names();
  for (const std::string& name : field_names()) known.push_back(name);
  known.insert(known.end(), top.begin(), top.end());
  return invalid_argument("--set ", key, ": unknown setting", did_you_mean(path.front(), known));
}

/// The name of a recipe replaces what the layers below say of images, as its map {recipe: name}.
void lay_recipe(const Node::Entry& entry, Origin origin, Merged& merged) {
  const Node block(Node::Map{{"recipe", entry.value, entry.key_mark}});
  merged.values = merged.values.with(entry.key, block.at(entry.value.mark()), entry.key_mark);
  std::erase_if(merged.origins, [](const auto& one) { return one.first.starts_with("preprocess."); });
  merged.origins[entry.key + ".recipe"] = origin;
}

}  // namespace

Status lay_over(const Layer& layer, Merged& merged) {
  if (layer.values.is_null()) return {};
  if (!layer.values.is_map()) return check_keys(layer.values, "", {});
  QQ_RETURN_IF_ERROR(check_top_level(layer.values));
  for (const Node::Entry& entry : layer.values.entries()) {
    const std::string where = entry.value.mark().prefix() + entry.key;
    if (is_block_name(entry.key) && entry.value.is_map()) {
      lay_block(entry, layer.origin, merged);
    } else if (entry.key == "preprocess" && entry.value.is_text()) {
      lay_recipe(entry, layer.origin, merged);
    } else if (is_block_name(entry.key)) {
      if (!entry.value.is_null()) {
        return wrong_kind(entry.value, entry.key == "preprocess" ? "the name of a recipe or a map" : "a map")
            .context(where);
      }
    } else if (entry.value.is_null()) {
      merged.values = merged.values.without(entry.key);
      merged.origins.erase(entry.key);
    } else {
      merged.values = merged.values.with(entry.key, entry.value, entry.key_mark);
      merged.origins[entry.key] = layer.origin;
    }
  }
  return {};
}

std::vector<std::string> top_level_keys() {
  std::vector<std::string> keys;
  for (const TopKey& row : kTopKeys) keys.emplace_back(row.key);
  for (const auto& row : kAliases) keys.emplace_back(row.alias);
  return keys;
}

Node without_aliases(const Node& values) {
  Node result = values;
  for (const auto& [alias, key] : kAliases) {
    const auto entry = std::ranges::find(values.entries(), alias, &Node::Entry::key);
    if (entry == values.entries().end()) continue;
    const std::vector<std::string> path = split(key, '.');
    Node value = entry->value;
    if (path.size() > 1) {
      const Node* block = result.find(path[0]);
      const Node below = block == nullptr ? Node(Node::Map{}) : *block;
      if (!below.is_map()) continue;
      value = below.with(path[1], value, entry->key_mark).at(value.mark());
    }
    result = result.without(alias).with(path[0], value, entry->key_mark).at(values.mark());
  }
  return result;
}

Setting setting_of(const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  Setting setting{Origin::kSet, text.substr(0, equals), text.substr(std::min(equals + 1, text.size())), ""};
  const std::string key = setting.key.starts_with("--") ? key_of_flag(setting.key) : "";
  if (key.empty()) return setting;
  setting.origin = Origin::kFlag;
  setting.flag = std::exchange(setting.key, key);
  return setting;
}

Result<Node> parse_set(const std::string& text) {
  const Setting setting = setting_of(text);
  const std::string source = setting.flag.empty() ? "--set " + text : cat(setting.flag, " ", setting.value);
  if (text.find('=') == std::string::npos || setting.key.empty())
    return invalid_argument("--set ", text, ": allowed is key=value");
  QQ_TRY(const std::vector<std::string> path, full_path(setting.key));
  QQ_TRY(Node value, parse_text(setting.value, source));
  const Mark mark{std::make_shared<const std::string>(source), 0};
  value = value.at(mark);
  for (auto key = path.rbegin(); key != path.rend(); ++key) value = Node(Node::Map{{*key, value, mark}}).at(mark);
  return value;
}

Result<Layer> read_layer(const std::string& text) {
  QQ_TRY(Node values, parse_set(text));
  return Layer{std::move(values), setting_of(text).origin};
}

}  // namespace quarkq::config
