// SPDX-License-Identifier: MIT
// Looks presets up in the embedded files.
#include "config/preset.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/read_config.h"

namespace quarkq::config {

namespace {

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

PresetInfo make_info(const EmbeddedPreset& file) {
  PresetInfo info{upper(file.stem), "", "", "", file.text};
  static const std::string kTarget = "; target: ", kCompiler = "; compiler: ";
  for (const std::string& line : split(file.text, '\n')) {
    const size_t at = line.find(kTarget);
    if (!line.starts_with("# ") || at == std::string::npos) continue;
    info.summary = line.substr(2, at - 2);
    info.target = line.substr(at + kTarget.size());
    if (const size_t end = info.target.find(kCompiler); end != std::string::npos) {
      info.compiler = info.target.substr(end + kCompiler.size());
      info.target.resize(end);
    }
    break;
  }
  return info;
}

std::vector<PresetInfo> make_presets() {
  std::vector<PresetInfo> all;
  for (const EmbeddedPreset& file : embedded_presets()) all.push_back(make_info(file));
  std::sort(all.begin(), all.end(), [](const PresetInfo& a, const PresetInfo& b) { return a.name < b.name; });
  return all;
}

}  // namespace

const std::vector<PresetInfo>& presets() {
  static const std::vector<PresetInfo> all = make_presets();
  return all;
}

Result<PresetInfo> find_preset(const std::string& name) {
  std::string key = upper(name);
  if (key.ends_with(".YAML")) key.resize(key.size() - 5);
  std::vector<std::string> names;
  for (const PresetInfo& preset : presets()) {
    if (preset.name == key) return preset;
    names.push_back(preset.name);
  }
  std::string hint = did_you_mean(key, names);
  if (hint.empty()) hint = ", allowed are a file or a name from `quarkq list presets`";
  return invalid_argument("preset ", name, ": no such file or preset", hint);
}

Result<Node> preset_body(const PresetInfo& preset) { return parse_text(preset.text, "preset " + preset.name); }

// Merging and --set. Which keys are merged by their inner keys is a table each for blocks and for options.

namespace {

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_block_name(std::string_view key) {
  return contains({"quant_config", "extra_options", "calibration", "evaluation", "preprocess", "quarkq", "legalize"},
                  key);
}

/// Maps whose entries are settings of their own.
bool is_merged(std::string_view block, std::string_view key) {
  if (block == "legalize") return key == "shapes";
  return block == "extra_options" && contains({"FastFinetune", "AutoMixprecision", "GPTQParams", "MatMulNBitsParams",
                                               "BFPAttributes", "MXAttributes", "TensorQuantOverrides"},
                                              key);
}

/// `below` with `entry` laid over it; `by_inner_key`: maps on both sides are merged one level deeper.
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

/// The block that a field or option stands in; null for other names.
const char* home_of(const std::string& name) {
  const Field* field = find_field(name);
  if (field == nullptr && find_field_key(name) == nullptr) return nullptr;
  return field != nullptr && !field->is_option() ? "quant_config" : "extra_options";
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

Result<Node> parse_set(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return invalid_argument("--set ", text, ": allowed is key=value");
  QQ_TRY(const std::vector<std::string> path, full_path(text.substr(0, equals)));
  const std::string source = "--set " + text;
  QQ_TRY(Node value, parse_text(text.substr(equals + 1), source));
  const Mark mark{std::make_shared<const std::string>(source), 0};
  value = value.at(mark);
  for (auto key = path.rbegin(); key != path.rend(); ++key) value = Node(Node::Map{{*key, value, mark}}).at(mark);
  return value;
}

}  // namespace quarkq::config
