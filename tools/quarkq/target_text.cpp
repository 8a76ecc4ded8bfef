// SPDX-License-Identifier: MIT
#include "target_text.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iomanip>
#include <sstream>

#include "base/strings.h"
#include "config/targets/target.h"
#include "terminal.h"

namespace quarkq::tool {

namespace {

constexpr const char* kVerdictNames[] = {"runs", "falls back", "blocks everything", "unknown"};  // Indexed by
                                                                                                 // NodeVerdict.
constexpr size_t kMostRegions = 12;  ///< printed; --json has them all

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

}  // namespace

std::string target_verdict(const TargetReport& report) {
  const TargetCounts& counts = report.counts;
  const std::string placed = cat(counts.npu, " of ", counts.total, " nodes on the ", report.label, ", ",
                                 report.unblocked.regions, report.unblocked.regions == 1 ? " region" : " regions");
  if (report.verdict == "blocked") {
    return cat("blocked: the compiler would place no node on the ", report.label, ", and ", report.unblocked.npu,
               " of ", report.unblocked.total, " if nothing blocked the model");
  }
  if (report.verdict == "runs-wrong") return cat("runs, with results that are known to be wrong: ", placed);
  if (report.verdict == "unknown") {
    return cat("unknown: at least ", placed, "; ", report.unknown_runs.npu, " nodes if unknown nodes run");
  }
  return cat(report.verdict == "runs" ? "runs: " : "runs partly: ", placed);
}

namespace {

void print_reason(const TargetReason& reason) {
  say("    %s [%s, %s]\n", reason.text.c_str(), grade_name(reason.grade).c_str(), reason.source.c_str());
  if (!reason.remedy_text.empty()) say("    %s (%s)\n", reason.remedy_text.c_str(), reason.remedy.c_str());
}

void print_target_findings(const TargetReport& report) {
  for (const TargetFinding& finding : report.findings) {
    const std::string where = finding.nodes.empty() ? "" : cat(" at ", finding.nodes.front());
    const std::string more = finding.count > 1 ? cat(", ", finding.count, " places") : "";
    say("%s: %s%s%s\n", quarkq::name(finding.reason.effect), finding.reason.rule.c_str(), where.c_str(), more.c_str());
    print_reason(finding.reason);
  }
}

void print_regions(const TargetReport& report) {
  if (report.regions.empty()) return;
  say("\nregions%s\n", report.is_blocked ? ", once nothing blocks the model" : "");
  Table table({{"#", kRight}, {"Operators", kRight}, {"Nodes", kRight}, {"MACs", kRight}, {"From"}, {"To"}, {"Runs"}});
  for (size_t i = 0; i < std::min(report.regions.size(), kMostRegions); ++i) {
    const TargetRegion& region = report.regions[i];
    table.add({cat(i), cat(region.operators), cat(region.nodes), percent(region.mac_share), region.first, region.last,
               region.is_running ? "yes" : "no"});
  }
  table.print();
  if (report.regions.size() > kMostRegions)
    say("and %zu more; --json has them all\n", report.regions.size() - kMostRegions);
}

void print_fallbacks(const TargetReport& report) {
  if (report.fallbacks.empty()) return;
  say("\nnot on the %s\n", report.label.c_str());
  for (const TargetFallback& one : report.fallbacks) {
    say("  %zu x %s %s: %s, first %s\n", one.count, one.op.c_str(), kVerdictNames[static_cast<size_t>(one.verdict)],
        report.reasons[one.reason].rule.c_str(), one.first.c_str());
    print_reason(report.reasons[one.reason]);
  }
}

}  // namespace

void print_target_report(const TargetReport& report) {
  say("%s on %s: %s\n", report.model_path.c_str(), report.target.c_str(), target_verdict(report).c_str());
  const TargetCounts& counts = report.counts;
  say("%s; model type %s, judged as %s; a prediction, nothing was compiled\n", report.title.c_str(),
      report.model_type.c_str(), report.judged_as.c_str());
  say("CPU %zu, %s %zu, VITIS_EP_CPU %zu; subgraphs %zu, running %zu; %s of the multiply-accumulates on the %s\n",
      counts.cpu, report.label.c_str(), counts.npu, counts.qdq_cpu, counts.regions, counts.regions_running,
      percent(counts.mac_share).c_str(), report.label.c_str());
  print_target_findings(report);
  print_regions(report);
  print_fallbacks(report);
}

namespace {

using Row = config::TextRow;

Row with_evidence(Row row, const config::Evidence& evidence) {
  row.emplace_back("grade", grade_name(evidence.grade));
  row.emplace_back("source", evidence.source);
  row.emplace_back("note", evidence.note);
  return row;
}

/// Returns the days since `date` ("2026-07-23") on this machine's clock, at least 0.
int64_t days_since(const std::string& date) {
  std::tm parts{};
  std::istringstream(date) >> std::get_time(&parts, "%Y-%m-%d");
  const std::chrono::year_month_day day(std::chrono::year(parts.tm_year + 1900),
                                        std::chrono::month(static_cast<unsigned>(parts.tm_mon + 1)),
                                        std::chrono::day(static_cast<unsigned>(parts.tm_mday)));
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return std::max<int64_t>((today - std::chrono::sys_days(day)).count(), 0);
}

}  // namespace

Result<std::vector<Row>> list_targets(const std::string&) {
  std::vector<Row> rows;
  for (const std::string& name : config::target_names()) {
    QQ_TRY(const config::Target target, config::load_target(name));
    std::vector<std::string> types;
    for (const config::TypeRow& type : target.types) {
      if (type.verdict == config::Placement::kRuns) types.push_back(type.type);
    }
    const std::vector<config::SourceUse> sources = config::sources_of(target);
    const config::SourceInfo* newest = sources.empty() ? nullptr : sources.front().source;
    rows.push_back({{"name", name},
                    {"takes", join(types, ",")},
                    {"preset", target.preset.empty() ? "-" : target.preset},
                    {"devices", target.devices},
                    {"newest_source", newest == nullptr ? "-" : newest->date},
                    {"age_days", newest == nullptr ? "-" : cat(days_since(newest->date))},
                    {"summary", target.title}});
  }
  return rows;
}

Result<std::vector<Row>> list_target_ops(const std::string& name) {
  QQ_TRY(const config::Target target, config::load_target(name));
  std::vector<Row> rows;
  for (const auto& [key, op] : target.operators) {
    rows.push_back(with_evidence({{"name", key.first},
                                  {"type", key.second},
                                  {"verdict", quarkq::name(op.verdict)},
                                  {"remedy", op.remedy.empty() ? "-" : op.remedy}},
                                 op.evidence));
  }
  if (target.other_operators.verdict != config::Placement::kUnknown) {
    const config::OperatorRow& others = target.other_operators;
    rows.push_back(with_evidence(
        {{"name", "(others)"}, {"type", "any"}, {"verdict", quarkq::name(others.verdict)}, {"remedy", "-"}},
        others.evidence));
  }
  return rows;
}

Result<std::vector<Row>> list_target_rules(const std::string& name) {
  QQ_TRY(const config::Target target, config::load_target(name));
  std::vector<Row> rows;
  for (const config::RuleRow& rule : target.rules) {
    rows.push_back(with_evidence({{"name", rule.rule},
                                  {"effect", quarkq::name(rule.effect)},
                                  {"types", rule.columns.empty() ? "all" : join(rule.columns, ",")},
                                  {"holds", config::find_rule(rule.rule)->summary},
                                  {"limit", rule.limit == 0 ? "-" : cat(rule.limit)},
                                  {"symptom", rule.symptom},
                                  {"remedy", rule.remedy}},
                                 rule.evidence));
  }
  return rows;
}

Result<std::vector<Row>> list_target_options(const std::string& name) {
  QQ_TRY(const config::Target target, config::load_target(name));
  std::vector<Row> rows;
  for (const config::ProviderOption& option : target.options)
    rows.push_back(with_evidence({{"name", option.name}, {"value", option.value}}, option.evidence));
  return rows;
}

Result<std::vector<Row>> list_target_settings(const std::string& name) {
  QQ_TRY(const config::Target target, config::load_target(name));
  std::vector<Row> rows;
  for (const config::TargetSetting& setting : target.settings)
    rows.push_back(with_evidence({{"name", setting.key}, {"value", config::to_flow(setting.value)}}, setting.evidence));
  return rows;
}

Result<std::vector<Row>> list_target_sources(const std::string& name) {
  QQ_TRY(const config::Target target, config::load_target(name));
  std::vector<Row> rows;
  for (const config::SourceUse& use : config::sources_of(target)) {
    rows.push_back({{"name", use.source->tag},
                    {"date", use.source->date},
                    {"basis", use.source->basis},
                    {"age_days", cat(days_since(use.source->date))},
                    {"facts", cat(use.rows)},
                    {"summary", use.source->title}});
  }
  return rows;
}

Result<std::vector<Row>> list_remedies(const std::string&) {
  std::vector<Row> rows;
  for (const config::RemedyInfo& remedy : config::target_remedies())
    rows.push_back({{"name", remedy.id}, {"kind", remedy.kind}, {"summary", remedy.text}});
  return rows;
}

}  // namespace quarkq::tool
