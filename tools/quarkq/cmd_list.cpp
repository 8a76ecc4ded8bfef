// SPDX-License-Identifier: MIT
// quarkq list presets|options|quirks|...: prints one of the program's tables. Another table to list is a row of
// kListings.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/strings.h"
#include "calib/calibrator_table.h"
#include "command_tree.h"
#include "config/fields.h"
#include "config/pass_list.h"
#include "config/preprocess.h"
#include "config/preset.h"
#include "config/print.h"
#include "config/settings.h"
#include "exec/op_def.h"
#include "metrics/detect/heads.h"
#include "metrics/metric_table.h"
#include "pipeline/report/api.h"
#include "pipeline/run/conversions.h"
#include "pipeline/run/pass_runner.h"
#include "plan/lowering/lower.h"
#include "plan/op_rules.h"
#include "target_text.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

/// One line of a listing: column name and text, the same columns in every line.
using Row = config::TextRow;

std::vector<Row> list_presets() {
  std::vector<Row> rows;
  for (const config::PresetInfo& preset : config::presets())
    rows.push_back(
        {{"name", preset.name}, {"target", preset.target}, {"compiler", preset.compiler}, {"summary", preset.summary}});
  return rows;
}

std::vector<Row> list_recipes() {
  std::vector<Row> rows;
  for (const config::PreprocessRecipe& recipe : config::preprocess_recipes())
    rows.push_back({{"name", recipe.name}, {"summary", recipe.summary}, {"block", recipe.block}});
  return rows;
}

std::vector<Row> list_options() {
  std::vector<Row> rows;
  for (const config::Field& field : config::all_fields()) {
    const std::string category =
        field.is_of_block() ? cat("block ", field.block) : config::category_name(field.category);
    rows.push_back({{"name", field.name},
                    {"type", field.type},
                    {"default", field.by_default},
                    {"support", config::support_name(field.support)},
                    {"category", category},
                    {"summary", field.doc},
                    {"allowed", field.allowed.text()},
                    {"flag", field.flag}});
  }
  for (const config::FieldKey& key : config::field_keys()) {
    const config::Field& field = *config::find_field(key.field);
    rows.push_back({{"name", key.name},
                    {"type", field.type},
                    {"default", field.by_default},
                    {"support", config::support_name(field.support)},
                    {"category", config::category_name(key.category)},
                    {"summary", cat(key.doc, "; sets quant_config.", key.field)},
                    {"allowed", ""},
                    {"flag", ""}});
  }
  return rows;
}

std::vector<Row> list_quirks() {
  std::vector<Row> rows;
  for (const config::QuirkInfo& quirk : config::kQuirks) {
    rows.push_back({{"name", config::quirk_name(quirk)}, {"section", quirk.section}, {"summary", quirk.summary}});
  }
  return rows;
}

std::vector<Row> list_passes() {
  static const char* const acts_on[] = {"selection", "graph", "plan", "graph, plan", "qdq"};  // indexed by kind of
                                                                                              // function
  std::vector<Row> rows;
  for (const pass::PassInfo& pass : pipeline::all_passes()) {
    rows.push_back({{"name", pass.name},
                    {"phase", pass::name(pass.phase)},
                    {"acts_on", acts_on[pass.run.index()]},
                    {"summary", pass.summary}});
  }
  return rows;
}

std::vector<Row> list_conversions() {
  std::vector<Row> rows;
  for (const pass::Conversion& conversion : pipeline::all_conversions()) {
    rows.push_back({{"name", conversion.name},
                    {"options", *conversion.options == '\0' ? "-" : conversion.options},
                    {"outputs", pipeline::name(conversion.claim)},
                    {"summary", conversion.summary}});
  }
  return rows;
}

std::vector<Row> list_listed_passes() {
  std::vector<Row> rows;
  for (const config::ListedPassInfo& pass : config::listed_passes()) {
    rows.push_back({{"name", pass.name}, {"parameters", join(pass.parameters, ", ")}, {"conversion", pass.conversion}});
  }
  return rows;
}

/// Returns "cpu,npu-cnn": the default op sets that contain the operator.
std::string op_sets_of(const plan::OpRuleRow& rule) {
  std::vector<std::string> sets;
  if (rule.in_cpu_set) sets.emplace_back("cpu");
  if (rule.in_npu_set) sets.emplace_back("npu-cnn");
  if (rule.in_transformer_set) sets.emplace_back("npu-transformer");
  return join(sets, ",");
}

/// Lists what runs and what is quantized by default, one row per operator. "-" if one of the two does not apply.
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

std::vector<Row> list_metrics() {
  std::vector<Row> rows;
  rows.reserve(metrics::metric_table().size());
  for (const metrics::MetricInfo& metric : metrics::metric_table()) {
    rows.push_back({{"name", std::string(metric.name)},
                    {"better", std::string(metrics::better_name(metric.better))},
                    {"unit", metric.unit.empty() ? "-" : std::string(metric.unit)},
                    {"truth", std::string(metrics::truth_name(metric.truth))},
                    {"summary", std::string(metric.summary)}});
  }
  return rows;
}

std::vector<Row> list_heads() {
  std::vector<Row> rows;
  rows.reserve(metrics::head_table().size());
  for (const metrics::HeadInfo& head : metrics::head_table()) {
    rows.push_back({{"name", std::string(head.name)}, {"summary", std::string(head.summary)}});
  }
  return rows;
}

std::vector<Row> list_diagnostics() {
  std::vector<Row> rows;
  rows.reserve(all_diagnostics().size());
  for (const DiagnosticInfo& row : all_diagnostics()) {
    rows.push_back({{"name", std::string(row.id)},
                    {"severity", config::severity_name(row.severity)},
                    {"meaning", std::string(row.meaning)},
                    {"remedy", std::string(row.remedy)}});
  }
  return rows;
}

template <std::vector<Row> (*Rows)()>
Result<std::vector<Row>> plain(const std::string&) {
  return Rows();
}

/// THE table of listings.
constexpr struct Listing {
  const char* name;
  const char* summary;
  Result<std::vector<Row>> (*rows)(const std::string& of);
  bool is_of_target = false;  ///< needs the name of a target
} kListings[] = {
    {"presets", "named settings for --config", plain<list_presets>},
    {"recipes", "named preprocessing of photos for --preprocess", plain<list_recipes>},
    {"options", "keys of quant_config, extra_options and our own blocks", plain<list_options>},
    {"passes", "steps of a quantize run, in order", plain<list_passes>},
    {"conversions", "passes of quarkq convert, on finished models", plain<list_conversions>},
    {"listed-passes", "passes of ShapeShifterYaml and --passes, and the conversion that each is",
     plain<list_listed_passes>},
    {"ops", "operators: opsets with a kernel, default op sets, what is quantized", plain<list_ops>},
    {"formats", "integer types and their limits", plain<list_formats>},
    {"calibrators", "calibration methods", plain<list_calibrators>},
    {"metrics", "what quarkq evaluate --metric computes, and which truth it needs", plain<list_metrics>},
    {"heads", "layouts of detectors' outputs, for quarkq evaluate --head", plain<list_heads>},
    {"quirks", "differences of --compat quark-0.13", plain<list_quirks>},
    {"diagnostics", "warnings and notices: ids, what they mean, what to do", plain<list_diagnostics>},
    {"targets", "NPU compilers that quarkq check --target supports", list_targets},
    {"target-ops", "what a target does with each operator and type", list_target_ops, true},
    {"target-rules", "what a target does if a rule applies", list_target_rules, true},
    {"target-options", "provider options of a target", list_target_options, true},
    {"target-sources", "sources of a target's facts, and their ages", list_target_sources, true},
    {"target-settings", "settings that --target implies for quantize and optimize", list_target_settings, true},
    {"remedies", "remedies for the findings of quarkq check --target, by id", list_remedies},
};

constexpr const char* kApi = "api";  ///< Not a table: printed as JSON in any case.

void print_rows(const std::vector<Row>& rows) {
  if (rows.empty()) return;
  std::vector<Table::Column> columns;
  for (const auto& [title, text] : rows.front()) columns.push_back({title});
  Table table(std::move(columns));
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const auto& [title, text] : row) cells.push_back(text);
    table.add(std::move(cells));
  }
  table.print();
}

// list api: what docs/versions.md makes a promise about.

/// Listings of which the names are promised.
constexpr const char* kPromised[] = {"calibrators", "conversions", "formats", "heads",    "listed-passes", "metrics",
                                     "passes",      "quirks",      "recipes", "remedies", "targets"};

/// Returns the interface of the program as JSON.
Result<std::string> api_text(const CLI::App& program) {
  pipeline::Interface api;
  for (const ExitCode& row : exit_codes()) api.exit_codes.emplace_back(row.code, row.meaning);
  for (const Command& command : command_tree(program)) {
    auto& options = api.options.emplace_back(command.name, std::vector<std::pair<std::string, bool>>()).second;
    for (const CommandOption& option : command.options) {
      if (option.is_positional()) options.emplace_back(option.placeholder, false);
      for (const std::string& name : option.names) options.emplace_back(name, option.takes_value);
    }
  }
  for (const Row& row : list_options()) api.settings.push_back({row[0].second, row[1].second, row[2].second});
  for (const char* name : kPromised) {
    const auto* const listing = std::ranges::find(kListings, std::string_view(name), &Listing::name);
    QQ_TRY(const std::vector<Row> rows, listing->rows(""));
    auto& names = api.listings.emplace_back(name, std::set<std::string>()).second;
    for (const Row& row : rows) names.insert(row.front().second);
  }
  for (const EmbeddedText& schema : embedded_schemas()) api.schemas.emplace_back(schema.stem, schema.text);
  return pipeline::interface_json(api);
}

Status run_list_api(const CLI::App& program, const std::string& json) {
  QQ_TRY(const std::string api, api_text(program));
  if (json.empty() || json == kStdout) {
    std::fputs(api.c_str(), stdout);
    return Status();
  }
  QQ_TRY(TextOutput json_file, TextOutput::open(json));
  return json_file.write(api);
}

Status run_list(const std::string& name, const std::string& target, const std::string& json) {
  std::vector<std::string> names = {kApi};
  for (const Listing& listing : kListings) {
    names.emplace_back(listing.name);
    if (listing.name != name) continue;
    if (listing.is_of_target == target.empty()) {
      return invalid_argument("list ", name, ": ", target.empty() ? "needs" : "takes no", " name of a target",
                              target.empty() ? ", one of `quarkq list targets` or a target file" : "");
    }
    QQ_TRY(const std::vector<Row> rows, listing.rows(target));
    QQ_TRY(TextOutput json_file, TextOutput::open(json));
    if (json != kStdout) print_rows(rows);
    return json_file.is_open() ? json_file.write(config::to_json(rows)) : Status();
  }
  return invalid_argument("list: found ", name, ", allowed are ", join(names, ", "), did_you_mean(name, names));
}

}  // namespace

Run setup_list(CLI::App& app) {
  struct Args {
    std::vector<std::string> words;  ///< the listing, and the target that it is of
    std::string json;
  };
  auto args = std::make_shared<Args>();
  std::string names =
      "WHAT is one of:\n  api                       the interface as JSON: options, settings, ids, keys "
      "(docs/versions.md)";
  for (const Listing& listing : kListings) {
    std::string name = cat(listing.name, listing.is_of_target ? " TARGET" : "");
    name.resize(24, ' ');
    names += cat("\n  ", name, "  ", listing.summary);
  }
  app.add_option("WHAT", args->words, "What to list, and the target if it has one")->required()->expected(1, 2);
  app.footer(names);
  add_json_option(app, args->json);
  return [args, &app] {
    if (args->words == std::vector<std::string>{kApi}) return run_list_api(*app.get_parent(), args->json);
    return run_list(args->words[0], args->words.size() > 1 ? args->words[1] : "", args->json);
  };
}

}  // namespace quarkq::tool
