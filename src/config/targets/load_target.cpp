// SPDX-License-Identifier: MIT
// Targets from embedded and users' files, each put over the one that it extends.
#include "config/targets/target.h"

#include <algorithm>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/strings.h"
#include "config/convert.h"
#include "config/load.h"
#include "config/targets/read_rows.h"

namespace quarkq::config {

namespace {

constexpr size_t kMostLevels = 8;  ///< of files that extend each other

struct Source {
  std::string label;   ///< in messages, and to find circles
  std::string folder;  ///< that file names in `extends` are relative to
  Node body;
};

const EmbeddedTarget* find_embedded(const std::string& name) {
  for (const EmbeddedTarget& file : embedded_targets()) {
    if (name == file.stem) return &file;
  }
  return nullptr;
}

Result<Source> open_source(const std::string& name, const std::string& folder) {
  const std::string path = paths::joined(folder, name);
  if (file_exists(path)) {
    QQ_TRY(Node body, load_file(path));
    return Source{paths::normal(path), paths::folder_of(path), std::move(body)};
  }
  if (const EmbeddedTarget* file = find_embedded(name)) {
    QQ_TRY(Node body, parse_text(file->text, "target " + name));
    return Source{name, "", std::move(body)};
  }
  return invalid_argument(name, ": no such target or file, allowed are a file, ", join(target_names(), ", "),
                          did_you_mean(name, target_names()));
}

using ReadPart = Status (*)(const Node& node, Target& target);
constexpr struct {
  const char* key;
  ReadPart read;
} kParts[] = {
    {"types", read_target_types},     {"operators", read_target_operators}, {"rules", read_target_rules},
    {"options", read_target_options}, {"settings", read_target_settings},   {"other_operators", read_other_operators},
    {"cutting", read_cutting},
};

Status check_format(const Node& body, const std::string& label) {
  const std::string allowed = cat(", allowed is format: ", kTargetFormat, " (of quarkq's target files)");
  if (!body.is_map()) return invalid_argument(label, ": is not a map", allowed);
  const Node* format = body.find("format");
  if (format == nullptr) return invalid_argument(label, ": has no format", allowed);
  QQ_TRY(const int64_t found, read<int64_t>(*format, "format"));
  return found == kTargetFormat ? Status() : invalid_argument(label, ": has format ", found, allowed);
}

Status check_seen(const Node& seen, const std::string& label) {
  if (!seen.is_map()) return invalid_argument(label, ": seen: found ", describe(seen), ", allowed is a map");
  return check_keys(seen, label, {"device", "driver", "compiler", "model"});
}

Status apply(const Source& source, Target& target) {
  const Node& body = source.body;
  std::vector<std::string> keys = {"format", "extends",      "title",        "devices", "label",
                                   "preset", "float_column", "places_edges", "base",    "seen"};
  for (const auto& part : kParts) keys.emplace_back(part.key);
  QQ_RETURN_IF_ERROR(check_keys(body, source.label, keys));
  const OptionMap map(body, source.label.c_str());
  std::vector<std::string> devices;
  QQ_RETURN_IF_ERROR(map.take("title", target.title));
  QQ_RETURN_IF_ERROR(map.take("devices", devices));
  QQ_RETURN_IF_ERROR(map.take("label", target.label));
  QQ_RETURN_IF_ERROR(map.take("preset", target.preset));
  QQ_RETURN_IF_ERROR(map.take("float_column", target.float_column));
  QQ_RETURN_IF_ERROR(map.take("places_edges", target.places_edges));
  target.is_base = false;
  QQ_RETURN_IF_ERROR(map.take("base", target.is_base));
  if (const Node* seen = map.find("seen")) QQ_RETURN_IF_ERROR(check_seen(*seen, source.label));
  if (!devices.empty()) target.devices = join(devices, ", ");
  for (const auto& part : kParts) {
    if (const Node* node = map.find(part.key)) QQ_RETURN_IF_ERROR(part.read(*node, target));
  }
  return Status();
}

/// `source` and what it extends, the innermost first.
Result<std::vector<Source>> chain_of(Source source) {
  std::vector<Source> chain;
  for (;;) {
    QQ_RETURN_IF_ERROR(check_format(source.body, source.label));
    const bool is_there =
        std::any_of(chain.begin(), chain.end(), [&](const Source& other) { return other.label == source.label; });
    if (is_there || chain.size() >= kMostLevels) {
      return invalid_argument(source.label, ": extends ",
                              is_there ? "itself" : cat("more than ", kMostLevels, " files"),
                              ", allowed is a chain that ends");
    }
    const Node* extends = source.body.find("extends");
    std::string next;
    if (extends != nullptr) {
      QQ_TRY(next, read<std::string>(*extends, "extends"));
    }
    const std::string folder = source.folder, label = source.label;
    chain.push_back(std::move(source));
    if (extends == nullptr) break;
    auto opened = open_source(next, folder);
    if (!opened.ok()) return opened.status().context(label + ": extends");
    source = std::move(opened).value();
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

Result<Target> build(Source source, const std::string& name) {
  QQ_TRY(const std::vector<Source> chain, chain_of(std::move(source)));
  Target target;
  target.other_operators.evidence.note = "no row for this operator and type";
  for (const Source& one : chain) QQ_RETURN_IF_ERROR(apply(one, target));
  target.name = name;
  if (target.is_base) return invalid_argument(name, ": is only there to be extended");
  if (target.types.empty() || target.title.empty())
    return invalid_argument(name,
                            ": has no types or no title; both are needed unless it extends a target that has them");
  if (target.label.empty()) target.label = "NPU";
  return target;
}

}  // namespace

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const EmbeddedTarget& file : embedded_targets()) {
    if (std::string_view(file.text).find("\nbase: true\n") == std::string_view::npos) names.emplace_back(file.stem);
  }
  return names;
}

Result<Target> load_target(const std::string& name) {
  QQ_TRY(Source source, open_source(name, ""));
  return build(std::move(source), name);
}

Result<Target> parse_target(const std::string& text, const std::string& source_name) {
  QQ_TRY(Node body, parse_text(text, source_name));
  return build({source_name, "", std::move(body)}, source_name);
}

}  // namespace quarkq::config
