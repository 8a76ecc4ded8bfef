// SPDX-License-Identifier: MIT
// Whether samples resemble the training data of the model. A wrong recipe for photos hurts more than any setting, and
// the agreement of quantized and float model does not show it.
#pragma once

#include <vector>

#include "base/diagnostics.h"
#include "calib/observed_reader.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Warns (implausible-input) when images contradict the model: what its first BatchNormalization was trained on, or the
/// biases of its first layer together with what follows it. Runs that layer on a few samples. No warning when the model
/// gives no evidence, or cannot be run. `model`: as loaded, so that nothing is folded yet.
void check_plausible(const ir::Model& model, const exec::Environment& environment, const calib::ObservedReader& samples,
                     Diagnostics& diagnostics);

/// Why samples are unsuitable for calibration of any model: random, too few, constant. A sentence each.
std::vector<std::string> sample_cautions(const std::vector<calib::InputSummary>& inputs, size_t samples,
                                         bool is_random);

/// In the form of reports.
std::vector<InputReport> input_reports(const std::vector<calib::InputSummary>& inputs);

}  // namespace quarkq::pipeline
