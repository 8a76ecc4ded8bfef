// SPDX-License-Identifier: MIT
#include "pipeline/report/json.h"

#include <cmath>

#include "base/diagnostics.h"

template class nlohmann::detail::serializer<quarkq::pipeline::Json>;

namespace quarkq::pipeline {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json{{"low", number(interval->low)}, {"high", number(interval->high)}} : Json(nullptr);
}

Json difference_json(const std::optional<ScoreDifference>& difference) {
  if (!difference) return nullptr;
  return {{"value", number(difference->value)},
          {"low", number(difference->interval.low)},
          {"high", number(difference->interval.high)},
          {"mcnemar", difference->mcnemar ? Json(*difference->mcnemar) : Json(nullptr)}};
}

Json decibels(double value) {
  constexpr double kNothingLeft = -400;
  if (std::isinf(value) && value > 0) return nullptr;
  return std::isfinite(value) ? value : kNothingLeft;
}

std::string text(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

Json agreement_json(const Agreement& agreement) {
  return {{"cosine", number(agreement.cosine)}, {"sqnr_db", decibels(agreement.sqnr_db)}};
}

Json target_json(const TargetReport& target) {
  const TargetCounts& counts = target.counts;
  return {{"name", target.target},
          {"verdict", target.verdict},
          {"nodes", counts.total},
          {"npu", counts.npu},
          {"cpu", counts.cpu},
          {"subgraphs", counts.regions},
          {"npu_if_unknown_runs", target.unknown_runs.npu},
          {"mac_share", number(counts.mac_share)}};
}

Json deployable_json(const std::optional<Deployability>& deployable) {
  if (!deployable) return nullptr;
  return {{"target", deployable->target},
          {"holds", name(deployable->holds)},
          {"why", deployable->why},
          {"remedy", deployable->remedy.empty() ? Json(nullptr) : Json(deployable->remedy)},
          {"nodes", deployable->placed},
          {"of", deployable->total},
          {"regions", deployable->regions}};
}

Json operators_json(const std::map<std::string, OperatorCount>& operators) {
  Json all = Json::object();
  for (const auto& [op, count] : operators) all[op] = {{"total", count.total}, {"quantized", count.quantized}};
  return all;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json all = Json::array();
  for (const Finding& finding : findings) {
    const DiagnosticInfo* row = find_diagnostic(finding.id);
    all.push_back({{"severity", finding.is_warning ? "warning" : "notice"},
                   {"id", finding.id},
                   {"subject", finding.subject},
                   {"text", finding.text},
                   {"remedy", row == nullptr ? "" : std::string(row->remedy)}});
  }
  return all;
}

}  // namespace quarkq::pipeline
