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

/// New formats of the tensors of a promoted node; absent formats do not change.
struct MixedConfig {
  std::optional<MixedFormat> input, weight, bias, output;
};

struct MixedOptions : config::MixedSettings {
  std::vector<MixedConfig> configs;  ///< One for each of target_layers.
};

/// Returns nullopt if no format is specified.
Result<std::optional<MixedOptions>> mixed_options(const config::Settings& settings);

using config::MixedMetric;

/// Returns the distance between quantized and float outputs (ref:mixed-precision#metrics); lower is better. REQUIRES:
/// equal lengths.
double mixed_metric(MixedMetric metric, std::span<const double> reference, std::span<const double> quantized);

}  // namespace quarkq::planning
