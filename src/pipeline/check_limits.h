// SPDX-License-Identifier: MIT
// The limits of an NPU, looked up in a model in memory: for `check`, and for the report of a quantize run.
#pragma once

#include <string>

#include "ir/graph.h"
#include "pipeline/json.h"
#include "quarkq/check.h"

namespace quarkq::pipeline {

/// As check(), but a model without quantized tensors is none of its business. `path` is what messages name.
Result<CheckReport> check_limits(const ir::Model& model, const std::string& path, const std::string& target);

Json limits_json(const CheckReport& report);

}  // namespace quarkq::pipeline
