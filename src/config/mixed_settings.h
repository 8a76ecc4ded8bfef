// SPDX-License-Identifier: MIT
// AutoMixprecision (ref:mixed-precision#options): which nodes may compute in which other formats, and how that is
// judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "config/subgraph_file.h"

namespace quarkq::config {

enum class MixedMetric : uint8_t { kL2, kKl, kCosine, kSqnr, kPsnr };
enum class MixedGoal : uint8_t { kSpeed, kQuality };

struct MixedSettings {
  std::vector<LayerSpec> target_layers;  ///< what the tensors of a promoted node become
  std::vector<std::string> target_texts;  ///< the same as settings write them
  std::vector<std::string> target_ops = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  std::vector<std::string> include, exclude;
  std::string subgraph_file;  ///< groups that are promoted together; empty: each node alone
  std::string cache_file;     ///< what candidates scored, read if it is there, else written; empty: none
  int64_t data_size = 0;      ///< samples; 0: all
  int64_t output_index = 0;   ///< the output that is compared; out of range: all
  MixedMetric metric = MixedMetric::kL2;
  std::optional<double> threshold = 0.0;  ///< nothing: analyze only; 0: promote everything
  MixedGoal goal = MixedGoal::kSpeed;
  bool dual_pairs = false, skip_shared_inputs = false, unshares = false;
};

/// Nothing when no format is named. Fails on wrong values, and on keys that are known but not built.
Result<std::optional<MixedSettings>> read_mixed_settings(const Settings& settings);

}  // namespace quarkq::config
