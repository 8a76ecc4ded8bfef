// SPDX-License-Identifier: MIT
// Checks the limits of an NPU on a model in memory: for `check`, and for the report of a quantize run.
#pragma once

#include <string>

#include "ir/graph.h"
#include "pipeline/json.h"
#include "quarkq/check.h"

namespace quarkq::pipeline {

/// As check(), but accepts a model without quantized tensors. `path` is the name in messages.
Result<CheckReport> check_limits(const ir::Model& model, const std::string& path, const std::string& target);

Json limits_json(const CheckReport& report);

}  // namespace quarkq::pipeline
