// SPDX-License-Identifier: MIT
// The plan's decisions as explain() and the report show them.
#pragma once

#include <vector>

#include "pipeline/json.h"
#include "plan/quant_plan.h"
#include "quarkq/explain.h"

namespace quarkq::pipeline {

/// The decisions about `value`, each once. `graph`: one whose ids are those of the plan.
ExplainedTensor explain_value(const ir::Graph& graph, const plan::QuantPlan& plan, ir::ValueId value);

/// About every tensor that the plan decided about and `graph` has, in the order of ids.
std::vector<ExplainedTensor> explain_all(const ir::Graph& graph, const plan::QuantPlan& plan);

Json explained_json(const std::vector<ExplainedTensor>& tensors);

}  // namespace quarkq::pipeline
