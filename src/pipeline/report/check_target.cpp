// SPDX-License-Identifier: MIT
#include "pipeline/report/check_target.h"

#include <algorithm>
#include <cstdio>

#include "base/strings.h"
#include "config/preset.h"
#include "config/targets/target.h"
#include "onnx_io/infer.h"
#include "pipeline/report/json.h"
#include "pipeline/run/job.h"
#include "quarkq/check.h"
#include "quarkq/status.h"
#include "targets/assess.h"
#include "targets/quantized_view.h"

namespace quarkq {

namespace {

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

/// An unknown placement meets no goal.
void check_goals(const TargetCheckOptions& options, TargetReport& report) {
  report.missed = pipeline::missed_goals(options, report.counts, report.unblocked.regions, report.label);
  const bool has_goals = options.min_npu > 0 || options.max_partitions >= 0;
  if (has_goals && report.is_blocked && report.missed.empty())
    report.missed.push_back(cat("nothing would run on the ", report.label));
}

Result<TargetReport> judge(const pipeline::ModelFile& file, const TargetCheckOptions& options) {
  QQ_TRY(const config::Target target, config::load_target(options.target));
  QQ_TRY(const ir::Model model, pipeline::load_typed_model(file));
  QQ_TRY(TargetReport report, targets::assess(model, target).context(file.path));
  report.model_path = file.path;
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

// Summary of a report in one sentence.

namespace {

/// Returns "Softmax prob and 2 more"; empty for a finding about the whole model.
std::string places_text(const TargetFinding& finding, const TargetReport& report) {
  if (finding.nodes.empty()) return "";
  const std::string& first = finding.nodes.front();
  const auto node = std::ranges::find(report.nodes, first, &TargetNode::name);
  const std::string more = finding.count > 1 ? cat(" and ", finding.count - 1, " more") : "";
  return cat(node == report.nodes.end() ? "" : node->op + " ", first, more);
}

/// Describes the effect of the finding, its cause and the places.
std::string cause_text(const TargetFinding& finding, const TargetReport& report) {
  const TargetReason& reason = finding.reason;
  const config::RuleInfo* rule = config::find_rule(reason.rule);
  const std::string effect = reason.effect == TargetEffect::kCrash ? "the compiler aborts"
                             : reason.effect == TargetEffect::kNothingPlaced
                                 ? cat("the compiler places no node on the ", report.label)
                                 : cat("the ", report.label, " gives wrong results");
  const std::string places = places_text(finding, report);
  return cat(effect, ": ", rule == nullptr ? cat("the model is of type ", report.model_type) : rule->summary, " (",
             reason.rule, places.empty() ? "" : ": " + places, ")");
}

/// Returns "853 of 857 nodes in 3 regions".
std::string placed_text(const Deployability& deployable) {
  return cat(deployable.placed, " of ", deployable.total, " nodes",
             deployable.regions > 1 ? cat(" in ", deployable.regions, " regions") : "");
}

}  // namespace

namespace {

/// "no source states whether x2 takes: a weight with a scale per channel"; empty if sources state all.
std::string undocumented(const TargetReport& report) {
  std::string found;
  for (const TargetFinding& finding : report.findings) {
    const config::RuleInfo* rule = config::find_rule(finding.reason.rule);
    if (finding.reason.effect == TargetEffect::kUnknown && rule != nullptr)
      found += cat(found.empty() ? "" : ", ", rule->summary);
  }
  return found.empty() ? found : cat("no source states whether ", report.target, " takes ", found);
}

}  // namespace

Deployability deployability(const TargetReport& report) {
  using Holds = Deployability::Holds;
  const TargetCounts& counts = report.counts;
  Deployability found{report.target, Holds::kYes, "", "", counts.npu, counts.total, counts.regions};
  const auto refusal = std::ranges::find_if(
      report.findings, [](const TargetFinding& finding) { return pipeline::is_refusal(finding.reason.effect); });
  if (refusal != report.findings.end()) {
    found.holds = Holds::kNo;
    found.why = cause_text(*refusal, report);
    found.remedy = refusal->reason.remedy;
  } else if (counts.npu == 0 && report.unknown_runs.npu > 0) {
    found.holds = Holds::kUnknown;
    found.why = cat("no source states whether its operators run on the ", report.label);
  } else if (counts.npu == 0) {
    found.holds = Holds::kNo;
    found.why = cat("none of its operators runs on the ", report.label);
  } else if (!counts.is_whole()) {
    found.holds = Holds::kInParts;
    found.why = cat(placed_text(found), "; the rest runs on the CPU");
  } else {
    found.why = undocumented(report);
  }
  return found;
}

std::string text(const Deployability& deployable) {
  const std::string start = cat("deployable on ", deployable.target, ": ", name(deployable.holds), ", ");
  if (deployable.holds != Deployability::Holds::kYes) return start + deployable.why;
  return start + placed_text(deployable) + (deployable.why.empty() ? "" : "; " + deployable.why);
}

// The report of check_target() as JSON. Keys and their order are part of the contract.

namespace pipeline {

Json counts_json(const TargetCounts& counts) {
  return {{"total", counts.total},
          {"npu", counts.npu},
          {"cpu", counts.cpu},
          {"vitis_ep_cpu", counts.qdq_cpu},
          {"subgraphs", counts.regions},
          {"subgraphs_running", counts.regions_running},
          {"mac_share", number(counts.mac_share)},
          {"npu_share", number(counts.npu_share())}};
}

Json reason_json(const TargetReason& reason) {
  return {{"rule", reason.rule},
          {"effect", name(reason.effect)},
          {"grade", grade_name(reason.grade)},
          {"source", reason.source},
          {"text", reason.text},
          {"remedy", reason.remedy.empty() ? Json(nullptr) : Json(reason.remedy)},
          {"remedy_text", reason.remedy_text}};
}

Json regions_json(const std::vector<TargetRegion>& regions) {
  Json list = Json::array();
  for (const TargetRegion& region : regions) {
    list.push_back({{"operators", region.operators},
                    {"nodes", region.nodes},
                    {"mac_share", number(region.mac_share)},
                    {"running", region.is_running},
                    {"first", region.first},
                    {"last", region.last},
                    {"ops", region.ops}});
  }
  return list;
}

}  // namespace pipeline

namespace {

using pipeline::Json;

Json findings_list(const TargetReport& report) {
  Json list = Json::array();
  for (const TargetFinding& finding : report.findings) {
    Json row = pipeline::reason_json(finding.reason);
    row["count"] = finding.count;
    row["nodes"] = finding.nodes;
    list.push_back(std::move(row));
  }
  return list;
}

Json fallbacks_list(const TargetReport& report) {
  Json list = Json::array();
  for (const TargetFallback& fallback : report.fallbacks) {
    Json row = {
        {"op", fallback.op}, {"verdict", name(fallback.verdict)}, {"count", fallback.count}, {"first", fallback.first}};
    row["reason"] = pipeline::reason_json(report.reasons[fallback.reason]);
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
  json["predicted"] = pipeline::counts_json(report.counts);
  json["unblocked"] = pipeline::counts_json(report.unblocked);
  json["if_unknown_runs"] = pipeline::counts_json(report.unknown_runs);
  json["operators"] = Json::object();
  for (size_t verdict = 0; verdict < kNodeVerdictNames.size(); ++verdict)
    json["operators"][kNodeVerdictNames[verdict]] = report.verdicts[verdict];
  json["macs"] = pipeline::number(report.macs);
  json["missed_goals"] = report.missed;
  json["findings"] = findings_list(report);
  json["regions"] = pipeline::regions_json(report.regions);
  json["fallbacks"] = fallbacks_list(report);
  json["reasons"] = Json::array();
  for (const TargetReason& reason : report.reasons) json["reasons"].push_back(pipeline::reason_json(reason));
  json["nodes"] = nodes_list(report);
  return pipeline::text(json);
}

}  // namespace quarkq

namespace quarkq::pipeline {

Result<ir::Model> load_typed_model(const ModelFile& file) {
  QQ_TRY(ir::Model model, load_model(file));
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, ignored));
  return model;
}

Result<std::string> fitting_target(const ir::Model& model) {
  QQ_TRY(const targets::QuantizedView view, targets::view_of(model));
  const Result<config::PresetInfo> preset = config::find_preset(targets::type_of_model(view));
  return preset.ok() ? preset.value().compiler : std::string();
}

std::vector<std::string> missed_goals(const TargetCheckOptions& options, const TargetCounts& counts, size_t regions,
                                      const std::string& label) {
  std::vector<std::string> missed;
  const double share = counts.npu_share();
  if (share < options.min_npu) {
    missed.push_back(cat("--min-npu: ", percent(share), " of the nodes that could be on the ", label, ", wanted are ",
                         percent(options.min_npu)));
  }
  if (options.max_partitions >= 0 && regions > static_cast<size_t>(options.max_partitions))
    missed.push_back(cat("--max-partitions: ", regions, " regions, wanted are at most ", options.max_partitions));
  return missed;
}

namespace {

/// Describes the finding and its remedy. `quarkq check --target` prints the evidence.
std::string refusal_text(const TargetFinding& finding, const TargetReport& judged) {
  const std::string text = cause_text(finding, judged);
  return finding.reason.remedy_text.empty() ? text : cat(text, "; ", finding.reason.remedy_text);
}

}  // namespace

Result<std::optional<TargetReport>> judge_target(const ir::Model& result, const std::string& path,
                                                 const config::Settings& settings, Diagnostics& diagnostics) {
  const bool is_judged = settings.target && (settings.asks_for_target() || settings.inserts_qdq());
  if (!is_judged) return std::optional<TargetReport>();
  QQ_TRY(const config::Target target, config::load_target(*settings.target));
  QQ_TRY(TargetReport judged, targets::assess(result, target).context(path));
  judged.model_path = path;
  if (!settings.asks_for_target()) return std::optional(std::move(judged));  // the verdict states it
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

Status check_deployable(const std::optional<Deployability>& deployable) {
  if (!deployable) return quality_gate("--require ", kDeployable, ": there is no target; pass --target NAME");
  if (deployable->holds == Deployability::Holds::kYes) return Status();
  return quality_gate("--require ", kDeployable, ": ", text(*deployable));
}

}  // namespace quarkq::pipeline
