// SPDX-License-Identifier: MIT
// quarkq list presets|options|quirks|...: prints one of the program's tables. Another table to list is a row of
// kListings.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/suggest.h"
#include "config/fields.h"
#include "config/preset.h"
#include "config/quirks.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

using config::Node;

/// One line of a listing: column name and text, the same columns in every line.
using Row = std::vector<std::pair<const char*, std::string>>;

std::vector<Row> list_presets() {
  std::vector<Row> rows;
  for (const config::PresetInfo& preset : config::presets())
    rows.push_back({{"name", preset.name}, {"target", preset.target}, {"summary", preset.summary}});
  return rows;
}

std::vector<Row> list_options() {
  std::vector<Row> rows;
  for (const config::Field& field : config::all_fields()) {
    rows.push_back({{"name", field.name},
                    {"type", field.type},
                    {"default", field.by_default},
                    {"support", config::support_name(field.support)},
                    {"category", config::category_name(field.category)},
                    {"summary", field.doc}});
  }
  for (const config::FieldKey& key : config::field_keys()) {
    const config::Field& field = *config::find_field(key.field);
    rows.push_back({{"name", key.name},
                    {"type", field.type},
                    {"default", field.by_default},
                    {"support", config::support_name(field.support)},
                    {"category", config::category_name(key.category)},
                    {"summary", cat(key.doc, "; sets quant_config.", key.field)}});
  }
  return rows;
}

std::vector<Row> list_quirks() {
  const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
  std::vector<Row> rows;
  for (const config::QuirkInfo& quirk : config::kQuirks) {
    rows.push_back({{"name", config::quirk_name(quirk)},
                    {"section", quirk.section},
                    {"default", text(quirk.by_default)},
                    {"compat", text(quirk.in_compat)},
                    {"summary", quirk.summary}});
  }
  return rows;
}

/// THE table of listings.
constexpr struct Listing {
  const char* name;
  const char* summary;
  std::vector<Row> (*rows)();
} kListings[] = {
    {"presets", "named settings for --config", list_presets},
    {"options", "keys of quant_config and extra_options", list_options},
    {"quirks", "differences of --compat quark-0.13", list_quirks},
};

std::string as_text(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].second.size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += row[i].second;
      if (i + 1 < row.size()) text.append(widths[i] + 2 - row[i].second.size(), ' ');
    }
    text += '\n';
  }
  return text;
}

std::string as_json(const std::vector<Row>& rows) {
  Node::List items;
  for (const Row& row : rows) {
    Node::Map entries;
    for (const auto& [column, text] : row) entries.push_back({column, Node(text), {}});
    items.emplace_back(std::move(entries));
  }
  return config::to_json(Node(std::move(items)));
}

Status run_list(const std::string& name, bool json) {
  std::vector<std::string> names;
  for (const Listing& listing : kListings) {
    names.emplace_back(listing.name);
    if (listing.name != name) continue;
    const std::vector<Row> rows = listing.rows();
    std::fputs((json ? as_json(rows) : as_text(rows)).c_str(), stdout);
    return {};
  }
  return invalid_argument("list: found ", name, ", allowed are ", join(names, ", "), did_you_mean(name, names));
}

}  // namespace

Run setup_list(CLI::App& app) {
  struct Args {
    std::string name;
    bool json = false;
  };
  auto args = std::make_shared<Args>();
  std::string names;
  for (const Listing& listing : kListings) names += cat(names.empty() ? "" : "; ", listing.name, ": ", listing.summary);
  app.add_option("what", args->name, names)->required();
  app.add_flag("--json", args->json, "a JSON array on stdout");
  return [args] { return run_list(args->name, args->json); };
}

}  // namespace quarkq::tool
