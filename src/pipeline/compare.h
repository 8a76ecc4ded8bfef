// SPDX-License-Identifier: MIT
// Float against quantized, on a calibration sample: the figures of the summary.
#pragma once

#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Runs both models on the first sample. Outputs that are not floating point are left out.
Result<std::vector<OutputAgreement>> compare_outputs(const ir::Model& reference, const ir::Model& quantized,
                                                     const calib::DataReader& data, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline
