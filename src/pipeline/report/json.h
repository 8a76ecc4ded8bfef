// SPDX-License-Identifier: MIT
// Helpers of the JSON reports: keys in the order in which they are set, numbers that JSON can represent, valid text for
// any names.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/evaluate.h"
#include "quarkq/inspect.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

using Json = nlohmann::ordered_json;

/// Returns null for NaN and infinities, which JSON does not have.
Json number(double value);

/// Returns a signal to noise ratio: null if there is no noise, -400 (below the range of float32) if no signal is left.
Json decibels(double value);

/// Returns {"low", "high"}, or null.
Json interval_json(const std::optional<Interval>& interval);
/// Returns {"value", "low", "high", "mcnemar"}, or null.
Json difference_json(const std::optional<ScoreDifference>& difference);

/// Returns JSON indented by two, with a newline at the end. Names come from model files and may not be UTF-8.
std::string text(const Json& json);

Json agreement_json(const Agreement& agreement);

/// Returns the predicted placement of a result, without its nodes.
Json target_json(const TargetReport& target);

// Parts of reports about targets.
Json counts_json(const TargetCounts& counts);
Json reason_json(const TargetReason& reason);
Json regions_json(const std::vector<TargetRegion>& regions);

/// Returns null if there is no prediction.
Json deployable_json(const std::optional<Deployability>& deployable);

/// Returns the number of nodes and of quantized nodes per operator.
Json operators_json(const std::map<std::string, OperatorCount>& operators);

/// Returns findings in the format of reports.
Json findings_json(const std::vector<Finding>& findings);

}  // namespace quarkq::pipeline

// Instantiated only in json.cpp.
extern template class nlohmann::detail::serializer<quarkq::pipeline::Json>;

namespace quarkq::pipeline {

/// Agreement and formats of tensors as JSON, for the reports that list them.
inline Json tensors_json(const std::vector<TensorAgreement>& tensors) {
  Json all = Json::array();
  for (const TensorAgreement& tensor : tensors) {
    all.push_back({{"name", tensor.name},
                   {"node", tensor.node},
                   {"sqnr_db", decibels(tensor.sqnr_db)},
                   {"written_db", decibels(tensor.written_db)},
                   {"inputs_db", decibels(tensor.inputs_db)},
                   {"masked", tensor.is_masked}});
  }
  return all;
}

/// Formats as listed by `quarkq inspect --scales`.
inline Json quantized_json(const std::vector<QuantizedTensor>& tensors) {
  Json list = Json::array();
  for (const QuantizedTensor& tensor : tensors) {
    Json scales = Json::array(), zero_points = Json::array(), positions = Json::array();
    for (const double scale : tensor.scales) {
      const std::optional<int> position = position_of(scale);
      scales.push_back(number(scale));
      positions.push_back(position ? Json(*position) : Json(nullptr));
    }
    for (const double zero_point : tensor.zero_points) zero_points.push_back(number(zero_point));
    list.push_back({{"tensor", tensor.name},
                    {"kind", tensor.kind},
                    {"type", tensor.type},
                    {"block", tensor.block == 0 ? Json(nullptr) : Json(tensor.block)},
                    {"axis", tensor.axis < 0 ? Json(nullptr) : Json(tensor.axis)},
                    {"scales", scales},
                    {"zero_points", zero_points},
                    {"positions", positions}});
  }
  return list;
}

}  // namespace quarkq::pipeline
