// SPDX-License-Identifier: MIT
// Looks presets up in the embedded files.
#include "config/preset.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "config/load.h"

namespace quarkq::config {

namespace {

constexpr const char* kSource = "preset ";

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The text of `about.KEY`; empty if there is none.
std::string about(const Node& body, std::string_view key) {
  const Node* all = body.find("about");
  const Node* text = all == nullptr ? nullptr : all->find(key);
  return text == nullptr ? "" : text->as_text();
}

PresetInfo make_info(const EmbeddedPreset& file) {
  const Result<Node> body = parse_text(file.text, cat(kSource, file.stem));
  QQ_CHECK(body.ok());
  return {upper(file.stem), about(body.value(), "summary"), about(body.value(), "target"),
          about(body.value(), "compiler"), body.value()};
}

std::vector<PresetInfo> make_presets() {
  std::vector<PresetInfo> all;
  for (const EmbeddedPreset& file : embedded_presets()) all.push_back(make_info(file));
  std::sort(all.begin(), all.end(), [](const PresetInfo& a, const PresetInfo& b) { return a.name < b.name; });
  return all;
}

}  // namespace

bool is_given_by_user(const Mark& mark) { return mark.source != nullptr && !mark.source->starts_with(kSource); }

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

Result<std::vector<Node>> preset_bodies(const PresetInfo& preset) {
  std::vector<Node> bodies;
  const Node* base = preset.body.find("extends");
  if (base != nullptr) {
    QQ_TRY(const PresetInfo info, find_preset(base->as_text()));
    QQ_TRY(bodies, preset_bodies(info));
  }
  bodies.push_back(preset.body.without("extends").without("about"));
  return bodies;
}

}  // namespace quarkq::config
