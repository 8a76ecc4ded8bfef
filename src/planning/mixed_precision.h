// SPDX-License-Identifier: MIT
// AutoMixprecision: its formats as stages of the plan, and its metrics.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "config/mixed_precision.h"
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

using config::MixedMetric;

/// Returns how far quantized outputs are from float ones (ref:mixed-precision#metrics); lower is better.
/// REQUIRES: as many of one as of the other.
double mixed_metric(MixedMetric metric, std::span<const double> reference, std::span<const double> quantized);

}  // namespace quarkq::planning
