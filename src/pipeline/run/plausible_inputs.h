// SPDX-License-Identifier: MIT
// Checks whether samples resemble the training data of the model. A wrong recipe for photos degrades the result more
// than any setting, and the agreement of quantized and float model does not show it.
#pragma once

#include <vector>

#include "base/diagnostics.h"
#include "calib/observed_reader.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Warns (implausible-input) if images contradict the model: the training statistics of its first BatchNormalization,
/// or the biases of its first layer together with the next operator. Runs that layer on a few samples. Does not warn if
/// the model provides no evidence or cannot be run. `model` is the loaded model, in which nothing is folded yet.
void check_plausible(const ir::Model& model, const exec::Environment& environment, const calib::ObservedReader& samples,
                     Diagnostics& diagnostics);

/// Returns why samples are unsuitable for calibrating any model: random, too few, constant. One sentence each.
std::vector<std::string> sample_cautions(const std::vector<calib::InputSummary>& inputs, size_t samples,
                                         bool is_random);

/// Returns the inputs in the format of reports.
std::vector<InputReport> input_reports(const std::vector<calib::InputSummary>& inputs);

}  // namespace quarkq::pipeline
