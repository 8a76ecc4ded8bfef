// SPDX-License-Identifier: MIT
// Details of a quantize run for the HTML report: settings, values and ranges of every tensor, limits of the NPU.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "pipeline/compare.h"
#include "pipeline/json.h"
#include "pipeline/run_state.h"
#include "plan/quant_plan.h"
#include "quarkq/check.h"
#include "quarkq/inspect.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

// Checks the limits of an NPU on a model in memory: for `check`, and for the report of a quantize run.

/// As check(), but accepts a model without quantized tensors. `path` is the name in messages.
Result<CheckReport> check_limits(const ir::Model& model, const std::string& path, const std::string& target);

Json limits_json(const CheckReport& report);

// The plan's decisions as explain() and the report show them.

/// The decisions about `value`, each once. `graph`: one whose ids are those of the plan.
ExplainedTensor explain_value(const ir::Graph& graph, const plan::QuantPlan& plan, ir::ValueId value);

/// About every tensor that the plan decided about and `graph` has, in the order of ids.
std::vector<ExplainedTensor> explain_all(const ir::Graph& graph, const plan::QuantPlan& plan);

Json explained_json(const std::vector<ExplainedTensor>& tensors);

// Outputs on single samples for the report: how close they are, and pictures of those that are images.

/// Adds the result, with a picture when it is an image and there are not enough of that output yet.
void add_sample(const SampleResult& result, ReportDetails& details);

Json samples_json(const std::vector<SampleAgreement>& samples);
/// Pixels as hexadecimal text, two digits per value.
Json pictures_json(const std::vector<OutputPicture>& pictures);

/// Fills in report.details but for the tensors, which verification knows: settings, limits of the NPU, values and
/// ranges of what the plan quantizes. `calibrated`: the float model as it was calibrated; it runs on the first sample.
/// Without `data` activations have no counts. Parts that cannot be determined give a finding ("details-left-out").
void add_details(RunState& state, const ir::Model& calibrated, const calib::DataReader* data, QuantizeReport& report);

Json details_json(const ReportDetails& details);

}  // namespace quarkq::pipeline
