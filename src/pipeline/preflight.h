// SPDX-License-Identifier: MIT
// What is refused before anything is computed.
#pragma once

#include "pipeline/plan_model.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// The result must not replace the model, and its folder must exist and take a file.
Status check_output(const std::string& input, const std::string& output);

/// Missing samples, where the settings alone say that they are needed. What depends on the selection is left to the
/// pass that calibrates.
Status check_samples(const Source& source, const Job& job);

/// QuantizeRequest::workers_folder with settings whose layers cannot be trained by several processes.
Status check_workers(const QuantizeRequest& request, const Job& job);

/// Options that contradict each other.
Status check_request(const QuantizeRequest& request);

}  // namespace quarkq::pipeline
