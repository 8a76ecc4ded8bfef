// SPDX-License-Identifier: MIT
// What a person wants to look at behind a quantize run: settings, values and ranges of every tensor, limits of the NPU.
#pragma once

#include "passes/context.h"
#include "pipeline/json.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Settings that are not the default, in the order of `config show`.
std::vector<SettingValue> settings_of(const config::Settings& settings);

/// Values and ranges of what the plan quantizes. `calibrated`: the float model that the plan belongs to. Runs it on the
/// first sample; without `data` activations have no counts.
Result<std::vector<TensorProfile>> profile_tensors(const plan::QuantPlan& plan, const ir::Model& calibrated,
                                                   const calib::DataReader* data);

Json details_json(const ReportDetails& details);

}  // namespace quarkq::pipeline
