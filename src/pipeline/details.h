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

/// Runs check() on a model that may have no quantized tensors. `path` is its name in messages.
Result<CheckReport> check_limits(const ir::Model& model, const std::string& path, const std::string& target);

Json limits_json(const CheckReport& report);

/// Returns the decisions about `value`, each once. `graph` has the ids of the plan.
ExplainedTensor explain_value(const ir::Graph& graph, const plan::QuantPlan& plan, ir::ValueId value);

/// Returns the decisions about every tensor of the plan that `graph` has, in the order of ids.
std::vector<ExplainedTensor> explain_all(const ir::Graph& graph, const plan::QuantPlan& plan);

Json explained_json(const std::vector<ExplainedTensor>& tensors);

/// Adds the result, with a picture if it is an image and that output has too few.
void add_sample(const SampleResult& result, ReportDetails& details);

Json samples_json(const std::vector<SampleAgreement>& samples);
/// Returns pixels as hexadecimal text, two digits per value.
Json pictures_json(const std::vector<OutputPicture>& pictures);

/// Fills in report.details except for the tensors, which verification provides: settings, limits of the NPU, values and
/// ranges of the quantized tensors. `calibrated` is the float model as calibrated; it runs on the first sample. Without
/// `data` activations have no counts. Parts that cannot be determined give a finding ("details-left-out").
void add_details(const RunState& state, const ir::Model& calibrated, const calib::DataReader* data,
                 QuantizeReport& report);

Json details_json(const ReportDetails& details);

}  // namespace quarkq::pipeline
