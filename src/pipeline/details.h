// SPDX-License-Identifier: MIT
// Details of a quantize run for the HTML report: settings, values and ranges of every tensor, limits of the NPU.
#pragma once

#include "pipeline/json.h"
#include "pipeline/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Fills in report.details but for the tensors, which verification knows: settings, limits of the NPU, values and
/// ranges of what the plan quantizes. `calibrated`: the float model as it was calibrated; it runs on the first sample.
/// Without `data` activations have no counts. Parts that cannot be determined give a finding ("details-left-out").
void add_details(const RunState& state, const ir::Model& calibrated, const calib::DataReader* data,
                 QuantizeReport& report);

Json details_json(const ReportDetails& details);

}  // namespace quarkq::pipeline
