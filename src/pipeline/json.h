// SPDX-License-Identifier: MIT
// Helpers of the JSON reports: keys in the order they are set, numbers that JSON can hold, text whatever the names
// hold.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quarkq/quantize.h"

namespace quarkq::pipeline {

using Json = nlohmann::ordered_json;

/// JSON has neither NaN nor infinities: null stands for them.
Json number(double value);

/// A ratio to noise: null is no noise at all, -400 (below what float32 can hold) that nothing of the signal is left.
Json decibels(double value);

/// Indented by two, with a newline at the end. Names come from model files and may not be UTF-8.
std::string text(const Json& json);

Json agreement_json(const Agreement& agreement);

/// What a target would make of a result, without its nodes.
Json target_json(const TargetReport& target);

/// Operators with the nodes there are and those that were quantized.
Json operators_json(const std::map<std::string, OperatorCount>& operators);

/// Findings in the form of reports.
Json findings_json(const std::vector<Finding>& findings);

}  // namespace quarkq::pipeline

// Compiled once, in json.cpp, and not wherever a report is printed.
extern template class nlohmann::detail::serializer<quarkq::pipeline::Json>;
