// SPDX-License-Identifier: MIT
// Remedies as reports, messages and settings name them.
#pragma once

#include <string>
#include <vector>

#include "pipeline/rescue/remedies.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

struct AppliedRemedies {
  const Remedies& remedies;
  const std::vector<const FloatRemedy*>& float_remedies;
};

/// Returns the report of the remedies, without what was measured. `state` is a run to which they were not applied yet;
/// `loaded` is the graph whose node names are used in settings.
RescueReport described(const AppliedRemedies& applied, const RunState& state, const ir::Graph& loaded);

/// Returns "cosine 0.07 becomes 0.98 on 4 calibration samples: weights with a scale per channel; ...".
std::string rescue_text(const RescueReport& report);

}  // namespace quarkq::pipeline
