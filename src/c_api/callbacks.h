// SPDX-License-Identifier: MIT
// Functions of a C caller as the C++ requests take them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/c_api.h"
#include "quarkq/quantize.h"
#include "quarkq/run.h"

namespace quarkq::c_api {

/// A copy; nothing when there are no bytes.
std::optional<std::string> bytes_of(const quarkq_bytes& bytes);
/// Empty when there are none.
SampleSource source_of(const quarkq_samples& samples);
std::function<bool(const Progress&)> progress_of(const quarkq_callbacks& callbacks);
Metric metric_of(const quarkq_callbacks& callbacks);
decltype(RunRequest::on_result) result_of(const quarkq_callbacks& callbacks);

}  // namespace quarkq::c_api
