// SPDX-License-Identifier: MIT
#include "pipeline/report/check_target.h"

#include <cstdio>

#include "config/targets/target.h"
#include "onnx_io/infer.h"
#include "pipeline/report/json.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "quarkq/check.h"
#include "quarkq/status.h"
#include "targets/assess.h"

namespace quarkq {

namespace {

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

/// An unknown placement meets no goal.
void check_goals(const TargetCheckOptions& options, TargetReport& report) {
  const double share = report.counts.npu_share();
  if (share < options.min_npu) {
    report.missed.push_back(cat("--min-npu: ", percent(share), " of the nodes that could be on the ", report.label,
                                ", wanted are ", percent(options.min_npu)));
  }
  if (options.max_partitions >= 0 && report.unblocked.regions > static_cast<size_t>(options.max_partitions)) {
    report.missed.push_back(
        cat("--max-partitions: ", report.unblocked.regions, " regions, wanted are at most ", options.max_partitions));
  }
  const bool has_goals = options.min_npu > 0 || options.max_partitions >= 0;
  if (has_goals && report.is_blocked && report.missed.empty())
    report.missed.push_back(cat("nothing would run on the ", report.label));
}

Result<TargetReport> judge(const pipeline::ModelFile& file, const TargetCheckOptions& options) {
  const std::string& path = file.path;
  QQ_TRY(const config::Target target, config::load_target(options.target));
  QQ_TRY(ir::Model model, pipeline::load_model(file));
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, ignored));
  QQ_TRY(TargetReport report, targets::assess(model, target).context(path));
  report.model_path = path;
  check_goals(options, report);
  return report;
}

}  // namespace

Result<TargetReport> check_target(const std::string& path, const TargetCheckOptions& options) {
  return judge(path, options);
}

Result<TargetReport> check_target_bytes(const std::string& bytes, const std::string& name,
                                        const TargetCheckOptions& options) {
  const std::optional<std::string> given = bytes;
  return judge({name, given}, options);
}

// The report of check_target() as JSON. Keys and their order are part of the contract.

namespace {

using pipeline::Json;

Json counts_json(const TargetCounts& counts) {
  return {{"total", counts.total},
          {"npu", counts.npu},
          {"cpu", counts.cpu},
          {"vitis_ep_cpu", counts.qdq_cpu},
          {"subgraphs", counts.regions},
          {"subgraphs_running", counts.regions_running},
          {"mac_share", pipeline::number(counts.mac_share)},
          {"npu_share", pipeline::number(counts.npu_share())}};
}

Json reason_json(const TargetReason& reason) {
  return {{"rule", reason.rule},
          {"effect", name(reason.effect)},
          {"grade", std::string(1, reason.grade)},
          {"source", reason.source},
          {"text", reason.text},
          {"remedy", reason.remedy.empty() ? Json(nullptr) : Json(reason.remedy)},
          {"remedy_text", reason.remedy_text}};
}

Json findings_list(const TargetReport& report) {
  Json list = Json::array();
  for (const TargetFinding& finding : report.findings) {
    Json row = reason_json(finding.reason);
    row["count"] = finding.count;
    row["nodes"] = finding.nodes;
    list.push_back(std::move(row));
  }
  return list;
}

Json regions_list(const TargetReport& report) {
  Json list = Json::array();
  for (const TargetRegion& region : report.regions) {
    list.push_back({{"operators", region.operators},
                    {"nodes", region.nodes},
                    {"mac_share", pipeline::number(region.mac_share)},
                    {"running", region.is_running},
                    {"first", region.first},
                    {"last", region.last},
                    {"ops", region.ops}});
  }
  return list;
}

Json fallbacks_list(const TargetReport& report) {
  Json list = Json::array();
  for (const TargetFallback& fallback : report.fallbacks) {
    Json row = {
        {"op", fallback.op}, {"verdict", name(fallback.verdict)}, {"count", fallback.count}, {"first", fallback.first}};
    row["reason"] = reason_json(report.reasons[fallback.reason]);
    list.push_back(std::move(row));
  }
  return list;
}

Json nodes_list(const TargetReport& report) {
  Json list = Json::array();
  for (const TargetNode& node : report.nodes) {
    Json row = {{"name", node.name}, {"op", node.op}, {"verdict", name(node.verdict)}};
    row["region"] = node.region < 0 ? Json(nullptr) : Json(node.region);
    row["reason"] = node.reason;
    row["macs"] = pipeline::number(node.macs);
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

std::string to_json(const TargetReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = report.model_path;
  json["target"] = report.target;
  json["title"] = report.title;
  json["label"] = report.label;
  json["model_type"] = report.model_type;
  json["judged_as"] = report.judged_as;
  json["verdict"] = report.verdict;
  json["blocked"] = report.is_blocked;
  json["predicted"] = counts_json(report.counts);
  json["unblocked"] = counts_json(report.unblocked);
  json["if_unknown_runs"] = counts_json(report.unknown_runs);
  json["operators"] = Json::object();
  for (size_t verdict = 0; verdict < kNodeVerdictNames.size(); ++verdict)
    json["operators"][kNodeVerdictNames[verdict]] = report.verdicts[verdict];
  json["macs"] = pipeline::number(report.macs);
  json["missed_goals"] = report.missed;
  json["findings"] = findings_list(report);
  json["regions"] = regions_list(report);
  json["fallbacks"] = fallbacks_list(report);
  json["reasons"] = Json::array();
  for (const TargetReason& reason : report.reasons) json["reasons"].push_back(reason_json(reason));
  json["nodes"] = nodes_list(report);
  return pipeline::text(json);
}

}  // namespace quarkq

namespace quarkq::pipeline {

namespace {

/// What happens, where, and what to do. What it was seen in is for `quarkq check --target`.
std::string refusal_text(const TargetFinding& finding, const TargetReport& judged) {
  const TargetReason& reason = finding.reason;
  const config::RuleInfo* rule = config::find_rule(reason.rule);
  std::string text = reason.effect == TargetEffect::kCrash ? "the compiler aborts"
                     : reason.effect == TargetEffect::kNothingPlaced
                         ? cat("the compiler places no node on the ", judged.label)
                         : cat("the ", judged.label, " gives wrong results");
  text += cat(": ", rule == nullptr ? cat("the model is of type ", judged.model_type) : rule->summary, " (",
              reason.rule, ")");
  if (finding.count > 1) text += cat(", ", finding.count, " places");
  return reason.remedy_text.empty() ? text : cat(text, "; ", reason.remedy_text);
}

}  // namespace

Result<std::optional<TargetReport>> judge_target(const ir::Model& result, const std::string& path,
                                                 const config::Settings& settings, Diagnostics& diagnostics) {
  const std::string name = target_of(settings);
  if (name.empty()) return std::optional<TargetReport>();
  QQ_TRY(const config::Target target, config::load_target(name));
  QQ_TRY(TargetReport judged, targets::assess(result, target).context(path));
  judged.model_path = path;
  if (!settings.target) return std::optional(std::move(judged));  // nobody asked: no warnings
  for (const TargetFinding& finding : judged.findings) {
    const TargetEffect effect = finding.reason.effect;
    const std::string subject = finding.nodes.empty() ? judged.target : finding.nodes.front();
    if (effect == TargetEffect::kWrongResults) {
      diagnostics.add("target-computes-wrong", subject, refusal_text(finding, judged));
    } else if (effect == TargetEffect::kCrash || effect == TargetEffect::kNothingPlaced) {
      diagnostics.add("target-refuses", subject, refusal_text(finding, judged));
    }
  }
  return std::optional(std::move(judged));
}

}  // namespace quarkq::pipeline
