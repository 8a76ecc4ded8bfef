// SPDX-License-Identifier: MIT
// AutoMixprecision with its formats as stages of the plan.
#pragma once

#include <optional>
#include <vector>

#include "config/mixed_settings.h"
#include "plan/quant_plan.h"

namespace quarkq::planning {

/// The new format of a tensor: a stage without parameters.
struct MixedFormat {
  plan::Stage stage;
  bool symmetric = true;
};

/// What the tensors of a promoted node become; what is absent stays as it is.
struct MixedConfig {
  std::optional<MixedFormat> input, weight, bias, output;
};

struct MixedOptions : config::MixedSettings {
  std::vector<MixedConfig> configs;  ///< one for each of target_layers
};

/// Nothing when no format is named.
Result<std::optional<MixedOptions>> mixed_options(const config::Settings& settings);

}  // namespace quarkq::planning
