// SPDX-License-Identifier: MIT
// The report of check_ep_report() as JSON. Keys and their order are part of the contract.
#include "pipeline/report/json.h"
#include "quarkq/ep_report.h"
#include "quarkq/status.h"

namespace quarkq {
namespace {

using pipeline::Json;

Json differences_list(const EpReport& report) {
  Json list = Json::array();
  for (const PlacementDifference& one : report.differences) {
    Json row = {{"op", one.op}, {"outcome", name(one.outcome)}, {"on_npu", one.is_real}, {"count", one.count}};
    row["first"] = one.first;
    row["text"] = one.text;
    row["compiler_text"] = one.compiler_text.empty() ? Json(nullptr) : Json(one.compiler_text);
    row["reason"] = pipeline::reason_json(one.reason);
    list.push_back(std::move(row));
  }
  return list;
}

Json compared_nodes_list(const EpReport& report) {
  Json list = Json::array();
  for (const ComparedNode& node : report.nodes) {
    const bool differs = node.outcome != PlacementOutcome::kAgrees && node.outcome != PlacementOutcome::kAbsent;
    Json row = {{"name", node.name}, {"op", node.op}, {"outcome", name(node.outcome)}};
    row["predicted_npu"] = node.is_predicted;
    row["device"] = node.device.empty() ? Json(nullptr) : Json(node.device);
    row["region"] = node.region < 0 ? Json(nullptr) : Json(node.region);
    row["difference"] = differs ? Json(node.difference) : Json(nullptr);
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

std::string to_json(const EpReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = report.predicted.model_path;
  json["target"] = report.predicted.target;
  json["label"] = report.predicted.label;
  json["model_type"] = report.predicted.model_type;
  json["verdict"] = report.predicted.verdict;
  json["files"] = report.files;
  json["compiled_model"] = report.compiled_model.empty() ? Json(nullptr) : Json(report.compiled_model);
  json["compiler"] = report.compiler.empty() ? Json(nullptr) : Json(report.compiler);
  json["predicted"] = pipeline::counts_json(report.predicted.counts);
  json["real"] = pipeline::counts_json(report.real);
  json["has_nodes"] = report.has_nodes;
  json["agreement"] = report.has_nodes ? pipeline::number(report.agreement()) : Json(nullptr);
  json["compared"] = report.compared;
  json["agreeing"] = report.agreeing;
  json["now_known"] = report.now_known;
  json["absent"] = report.absent;
  json["unmatched"] = report.unmatched;
  json["missed_goals"] = report.missed;
  json["notes"] = report.notes;
  json["differences"] = differences_list(report);
  json["regions"] = {{"predicted", pipeline::regions_json(report.predicted.regions)},
                     {"real", pipeline::regions_json(report.regions)}};
  json["nodes"] = compared_nodes_list(report);
  return pipeline::text(json);
}

}  // namespace quarkq
