// SPDX-License-Identifier: MIT
// The verdict of a quantize run: how good the result is by a documented rule, and the one thing to try next.
#pragma once

#include <optional>

#include "config/settings.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Judges the worst sample and the mean of all outputs that are not almost zero. `collapse` is the cosine below which
/// an output counts as broken. A result that its target refuses is poor (`report.deployable`). Returns nullopt if no
/// output can be judged.
std::optional<Verdict> judge(const QuantizeReport& report, const QuantizeRequest& request,
                             const config::Settings& settings, double collapse);

}  // namespace quarkq::pipeline
