// SPDX-License-Identifier: MIT
#include "pipeline/report/api.h"

#include <algorithm>
#include <map>

#include "base/diagnostics.h"
#include "base/parse_text.h"
#include "base/strings.h"
#include "config/preset.h"
#include "config/print.h"
#include "config/quant_config.h"
#include "config/resolve.h"
#include "pipeline/report/json.h"
#include "quarkq/status.h"

namespace quarkq::pipeline {
namespace {

/// Returns per verb whether each option takes a value. The options that every verb has are one row.
Json options_json(const Interface& parts) {
  Json verbs = Json::object();
  for (const auto& [verb, options] : parts.options) {
    Json& row = verbs[verb] = Json::object();
    for (const auto& [name, takes_value] : options) row[name] = takes_value;
  }
  Json shared = Json::object();
  for (const auto& option : verbs.begin()->items()) {
    if (std::ranges::all_of(verbs, [&](const Json& options) { return options.contains(option.key()); }))
      shared[option.key()] = option.value();
  }
  Json all = {{"every verb", shared}};
  for (const auto& [verb, options] : verbs.items()) {
    all[verb] = Json::object();
    for (const auto& [name, takes_value] : options.items())
      if (!shared.contains(name)) all[verb][name] = takes_value;
  }
  return all;
}

/// Returns the most frequent of the texts, the first in alphabetical order of several.
std::string most_frequent(const std::map<std::string, size_t>& counts) {
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::ranges::max_element(counts, fewer)->first;
}

/// Returns the values that most presets have under "common", and for each preset the others. Targets are left out:
/// their facts are corrected in every release.
Result<Json> presets_json() {
  std::map<std::string, std::map<std::string, size_t>> counts;
  std::vector<std::pair<std::string, std::map<std::string, std::string>>> resolved;
  for (const config::PresetInfo& preset : config::presets()) {
    QQ_TRY(const config::QuantConfig asked, config::load_config(preset.name, {"target=none"}));
    Diagnostics ignored;
    const Result<config::Settings> settings = config::resolve(asked, config::ModelFacts{}, ignored);
    const Json shown = parse_json<Json>(config::to_json(asked, settings, ignored));
    auto& values = resolved.emplace_back(preset.name, std::map<std::string, std::string>()).second;
    for (const auto& [name, row] : shown.at("resolved").items()) {
      values[name] = row.at("value").dump();
      ++counts[name][values[name]];
    }
  }
  Json common = Json::object();
  for (const auto& [name, texts] : counts) common[name] = parse_json<Json>(most_frequent(texts));
  Json all = {{"common", common}};
  for (const auto& [preset, values] : resolved) {
    Json& row = all[preset] = Json::object();
    for (const auto& [name, text] : values)
      if (text != common[name].dump()) row[name] = parse_json<Json>(text);
  }
  return all;
}

std::string kinds_of(const Json& schema) {
  std::vector<std::string> kinds;
  const auto type = schema.find("type");
  if (type != schema.end() && type->is_array()) {
    kinds = type->get<std::vector<std::string>>();
    std::ranges::sort(kinds);
  } else if (type != schema.end()) {
    kinds = {type->get<std::string>()};
  } else if (schema.contains("enum")) {
    for (const Json& value : schema["enum"])
      kinds.push_back("=" + (value.is_string() ? value.get<std::string>() : value.dump()));
    std::ranges::sort(kinds);
  } else {
    kinds = {"any"};
  }
  return join(kinds, "|");
}

/// Adds path -> types of a key or, after "=", its values, with "?" if it may be absent.
void add_schema_rows(const Json& schema, const std::string& path, bool is_required,
                     Json& rows) {  // NOLINT(misc-no-recursion)
  rows[path] = kinds_of(schema) + (is_required ? "" : "?");
  const std::string own = rows[path];
  const Json branches = schema.value("anyOf", Json::array()), required = schema.value("required", Json::array());
  const Json properties = schema.value("properties", Json::object());
  for (const Json& branch : branches) add_schema_rows(branch, path, is_required, rows);
  rows[path] = own;
  for (const auto& [name, inner] : properties.items())
    add_schema_rows(inner, cat(path, ".", name), std::ranges::find(required, Json(name)) != required.end(), rows);
  for (const auto& [key, mark] : {std::pair("items", "[]"), std::pair("additionalProperties", ".*")})
    if (schema.contains(key) && schema[key].is_object()) add_schema_rows(schema[key], path + mark, true, rows);
}

}  // namespace

Result<std::string> interface_json(const Interface& parts) {
  Json codes = Json::object(), settings = Json::object(), findings = Json::object(), schemas = Json::object();
  for (const auto& [code, meaning] : parts.exit_codes) codes[code] = meaning;
  for (const Interface::Setting& row : parts.settings) settings[row.name] = {row.type, row.by_default};
  for (const DiagnosticInfo& row : all_diagnostics())
    findings[std::string(row.id)] = config::severity_name(row.severity);
  for (const auto& [name, text] : parts.schemas)
    add_schema_rows(parse_json<Json>(text), "$", true, schemas[name] = Json::object());
  QQ_TRY(const Json presets, presets_json());
  Json listings = Json::object();
  for (const auto& [name, names] : parts.listings) listings[name] = names;
  Json api = Json::object();
  api["version"] = version();
  api["exit_codes"] = std::move(codes);
  api["options"] = options_json(parts);
  api["settings"] = std::move(settings);
  api["presets"] = presets;
  api["diagnostics"] = std::move(findings);
  api["listings"] = std::move(listings);
  api["json"] = std::move(schemas);
  return text(api);
}

}  // namespace quarkq::pipeline
