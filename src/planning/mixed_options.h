// SPDX-License-Identifier: MIT
// AutoMixprecision (spec 04 F.1): which nodes may compute in which other formats, and how that is judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "plan/quant_plan.h"
#include "planning/mixed_metrics.h"

namespace quarkq::planning {

/// What a tensor becomes: a stage without parameters.
struct MixedFormat {
  plan::Stage stage;
  bool symmetric = true;
};

/// What the tensors of a promoted node become; what is absent stays as it is.
struct MixedConfig {
  std::optional<MixedFormat> input, weight, bias, output;
};

enum class MixedGoal : uint8_t { kSpeed, kQuality };

struct MixedOptions {
  std::vector<MixedConfig> configs;
  std::vector<std::string> target_ops = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  std::vector<std::string> include, exclude;
  int64_t data_size = 0;     ///< samples; 0: all
  int64_t output_index = 0;  ///< the output that is compared; out of range: all
  MixedMetric metric = MixedMetric::kL2;
  std::optional<double> threshold = 0.0;  ///< nothing: only look; 0: promote everything
  MixedGoal goal = MixedGoal::kSpeed;
  bool dual_pairs = false, skip_shared_inputs = false, unshares = false;
};

/// Nothing when no format is named.
Result<std::optional<MixedOptions>> mixed_options(const config::Settings& settings);

}  // namespace quarkq::planning
