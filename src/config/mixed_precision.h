// SPDX-License-Identifier: MIT
// The file that SubgraphJson of AutoMixprecision names: groups of nodes that are promoted together
// (ref:mixed-precision#options).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/settings.h"

namespace quarkq::config {

/// The nodes that are reached from the starts over outputs, not beyond an end.
struct NodeGroup {
  std::string name;
  std::vector<std::string> starts, ends;
};

/// The groups in the order of the file. kInvalidArgument for unknown keys, groups without a name of their own or
/// without starts, and a num_subgraphs that is not their number.
Result<std::vector<NodeGroup>> load_subgraphs(const std::string& path);

/// SensitivityCacheFile (ref:mixed-precision#sensitivity-cache): what each candidate of mixed precision scored, as JSON
/// that users edit to leave candidates out.
struct RankedCandidate {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<double> scores;  ///< with each config; lower is better
  size_t config = 0;           ///< that scored least
  bool enabled = true;         ///< false: it keeps its formats
};

struct SensitivityCache {
  std::string key;
  std::vector<RankedCandidate> candidates;  ///< in rising order of their scores
};

/// Nothing when there is no such file. kInvalidArgument for another form; files of the reference have the same form
/// and other keys.
Result<std::optional<SensitivityCache>> load_sensitivity(const std::string& path);
Status save_sensitivity(const std::string& path, const SensitivityCache& cache);

// AutoMixprecision (ref:mixed-precision#options): which nodes may compute in which other formats, and how that is
// judged.

enum class MixedMetric : uint8_t { kL2, kKl, kCosine, kSqnr, kPsnr };
enum class MixedGoal : uint8_t { kSpeed, kQuality };

struct MixedSettings {
  std::vector<LayerSpec> target_layers;   ///< what the tensors of a promoted node become
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
