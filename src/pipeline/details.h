// SPDX-License-Identifier: MIT
// What a person wants to look at behind a quantize run: settings, values and ranges of every tensor, limits of the NPU.
#pragma once

#include "pipeline/json.h"
#include "pipeline/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Fills in report.details but for the tensors, which verification knows: settings, limits of the NPU, values and
/// ranges of what the plan quantizes. `calibrated`: the float model as it was calibrated; it runs on the first sample.
/// Without `data` activations have no counts. What cannot be found out is a finding ("details-left-out").
void add_details(const RunState& state, const ir::Model& calibrated, const calib::DataReader* data,
                 QuantizeReport& report);

Json details_json(const ReportDetails& details);

}  // namespace quarkq::pipeline
