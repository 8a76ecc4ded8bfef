// SPDX-License-Identifier: MIT
// The report of check_target() as JSON. Keys and their order are part of the contract.
#include "pipeline/json.h"
#include "quarkq/check_target.h"
#include "quarkq/version.h"

namespace quarkq {
namespace {

using pipeline::Json;

constexpr const char* kVerdicts[] = {"runs", "falls-back", "blocks", "unknown"};  // by NodeVerdict

const char* verdict_text(NodeVerdict verdict) { return kVerdicts[static_cast<size_t>(verdict)]; }

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
          {"effect", reason.effect},
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
    Json row = {{"op", fallback.op},
                {"verdict", verdict_text(fallback.verdict)},
                {"count", fallback.count},
                {"first", fallback.first}};
    row["reason"] = reason_json(report.reasons[fallback.reason]);
    list.push_back(std::move(row));
  }
  return list;
}

Json nodes_list(const TargetReport& report) {
  Json list = Json::array();
  for (const TargetNode& node : report.nodes) {
    Json row = {{"name", node.name}, {"op", node.op}, {"verdict", verdict_text(node.verdict)}};
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
  for (size_t verdict = 0; verdict < std::size(kVerdicts); ++verdict)
    json["operators"][kVerdicts[verdict]] = report.verdicts[verdict];
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
