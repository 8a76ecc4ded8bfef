// SPDX-License-Identifier: MIT
// quarkq list presets|options|quirks|...: prints one of the program's tables. Another table to list is a row of
// kListings.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/suggest.h"
#include "calib/calibrator_table.h"
#include "config/fields.h"
#include "config/preset.h"
#include "config/print.h"
#include "config/quirks.h"
#include "exec/op_def.h"
#include "pipeline/pass_table.h"
#include "plan/lowering/lower.h"
#include "plan/op_rules.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

/// One line of a listing: column name and text, the same columns in every line.
using Row = config::TextRow;

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

std::vector<Row> list_passes() {
  static const char* const kActsOn[] = {"selection", "graph", "plan", "graph, plan", "qdq"};  // by kind of function
  std::vector<Row> rows;
  for (const pass::PassInfo& pass : pipeline::all_passes()) {
    rows.push_back({{"name", pass.name},
                    {"phase", pass::name(pass.phase)},
                    {"acts_on", kActsOn[pass.run.index()]},
                    {"summary", pass.summary}});
  }
  return rows;
}

/// "cpu,npu-cnn": which default op sets hold the operator.
std::string op_sets_of(const plan::OpRuleRow& rule) {
  std::vector<std::string> sets;
  if (rule.in_cpu_set) sets.emplace_back("cpu");
  if (rule.in_npu_set) sets.emplace_back("npu-cnn");
  if (rule.in_transformer_set) sets.emplace_back("npu-transformer");
  return join(sets, ",");
}

/// What runs and what is quantized by default, one row per operator. "-" where one of the two does not hold.
std::vector<Row> list_ops() {
  std::map<std::pair<std::string, std::string>, std::vector<int>> versions;  // name and domain -> opsets of its kernels
  for (const exec::OpDef* op : exec::all_ops()) {
    if (op->domain == plan::kSimulationDomain) continue;  // in no file
    versions[{std::string(op->name), std::string(op->domain)}].push_back(op->since);
  }
  std::map<std::string, const plan::OpRuleRow*> rules;
  for (const plan::OpRuleRow& rule : plan::op_rules()) {
    rules[rule.op] = &rule;
    versions.try_emplace({rule.op, ""});
  }
  std::vector<Row> rows;
  for (auto& [op, since] : versions) {
    const auto rule = op.second.empty() ? rules.find(op.first) : rules.end();
    std::sort(since.begin(), since.end());
    rows.push_back({{"name", op.first},
                    {"domain", op.second.empty() ? "ai.onnx" : op.second},
                    {"since", since.empty() ? "-" : join(since, ",")},
                    {"op_sets", rule == rules.end() ? "-" : op_sets_of(*rule->second)},
                    {"quantized", rule == rules.end() ? "-" : rule->second->summary}});
  }
  return rows;
}

std::vector<Row> list_formats() {
  const auto text = [](numeric::IntegerRange range) { return cat(range.min, "..", range.max); };
  constexpr int kWidest = 32;  // integer_range() ends there
  std::vector<Row> rows;
  for (int32_t wire = 1; element_type_from_wire(wire); ++wire) {
    const ElementType type = *element_type_from_wire(wire);
    if (!is_integer(type) || bits(type) > kWidest) continue;
    rows.push_back({{"name", std::string(name(type))},
                    {"bits", std::to_string(bits(type))},
                    {"full", text(numeric::integer_range(type, numeric::RangeKind::kFull))},
                    {"symmetric", text(numeric::integer_range(type, numeric::RangeKind::kSymmetric))},
                    {"reduced", text(numeric::integer_range(type, numeric::RangeKind::kReduced))}});
  }
  return rows;
}

std::vector<Row> list_calibrators() {
  std::vector<Row> rows;
  for (const calib::Calibrator& calibrator : calib::calibrators()) {
    rows.push_back({{"name", calibrator.name},
                    {"observes", calibrator.needs_bins ? "histogram" : "extremes"},
                    {"summary", calibrator.summary}});
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
    {"passes", "steps of a quantize run, in order", list_passes},
    {"ops", "operators: opsets with a kernel, default op sets, what is quantized", list_ops},
    {"formats", "integer types and their limits", list_formats},
    {"calibrators", "calibration methods", list_calibrators},
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

Status run_list(const std::string& name, bool json) {
  std::vector<std::string> names;
  for (const Listing& listing : kListings) {
    names.emplace_back(listing.name);
    if (listing.name != name) continue;
    const std::vector<Row> rows = listing.rows();
    std::fputs((json ? config::to_json(rows) : as_text(rows)).c_str(), stdout);
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
