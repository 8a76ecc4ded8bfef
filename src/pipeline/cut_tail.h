// SPDX-License-Identifier: MIT
// legalize.tail=cut: the network ends where its tail begins (ir/tail.h), and the tail is a model of its own.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "pipeline/job.h"

namespace quarkq::pipeline {

/// Where settings ask for it and there is a tail: takes it out of `model` and returns it. The outputs of `model` are
/// then those that the tail does not make, in their order, and after them what the tail reads; these are inputs of the
/// tail, under the same names. Nothing, with a warning, where there is no tail.
std::optional<ir::Model> cut_tail(ir::Model& model, const config::Settings& settings, Diagnostics& diagnostics);

/// kUnsupported where a job with a tail is to give one result in memory.
Status check_tail(const Job& job, bool in_memory);

/// Writes the tail of the job, if there is one, beside the result ("d/out.onnx": "d/out_tail.onnx"), before the result:
/// no network is left without its tail. Its path, or "".
Result<std::string> save_tail(const Job& job, const std::string& result_path);

}  // namespace quarkq::pipeline
