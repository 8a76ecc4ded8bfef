// SPDX-License-Identifier: MIT
// Helpers of the JSON reports: keys in the order they are set, numbers that JSON can hold, text whatever the names
// hold.
#pragma once

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

using Json = nlohmann::ordered_json;

/// JSON has neither NaN nor infinities: null stands for them.
inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// A ratio to noise: null is no noise at all, -400 (below what float32 can hold) that nothing of the signal is left.
inline Json decibels(double value) {
  constexpr double kNothingLeft = -400;
  if (std::isinf(value) && value > 0) return nullptr;
  return std::isfinite(value) ? value : kNothingLeft;
}

/// Indented by two, with a newline at the end. Names come from model files and may not be UTF-8.
inline std::string text(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

inline Json agreement_json(const Agreement& agreement) {
  return {{"cosine", number(agreement.cosine)}, {"sqnr_db", decibels(agreement.sqnr_db)}};
}

/// What a target would make of a result, without its nodes.
inline Json target_json(const TargetReport& target) {
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

/// Operators with the nodes there are and those that were quantized.
inline Json operators_json(const std::map<std::string, OperatorCount>& operators) {
  Json all = Json::object();
  for (const auto& [op, count] : operators) all[op] = {{"total", count.total}, {"quantized", count.quantized}};
  return all;
}

/// Findings in the form of reports.
inline Json findings_json(const std::vector<Finding>& findings) {
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
