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

/// The nodes that are reachable from the starts over outputs, up to an end.
struct NodeGroup {
  std::string name;
  std::vector<std::string> starts, ends;
};

/// Returns the groups in the order of the file. Fails with kInvalidArgument for unknown keys, groups without a unique
/// name or without starts, and a num_subgraphs that differs from their number.
Result<std::vector<NodeGroup>> load_subgraphs(const std::string& path);

/// SensitivityCacheFile (ref:mixed-precision#sensitivity-cache): scores of the candidates of mixed precision, as JSON
/// that users can edit to skip candidates.
struct RankedCandidate {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<double> scores;  ///< One per config; lower is better.
  size_t config = 0;           ///< Config with the lowest score.
  bool enabled = true;         ///< False: it keeps its formats.
};

struct SensitivityCache {
  std::string key;
  std::vector<RankedCandidate> candidates;  ///< In ascending order of their scores.
};

/// Returns nullopt if the file does not exist. Fails with kInvalidArgument for another form. Files of the reference
/// have the same form and other keys.
Result<std::optional<SensitivityCache>> load_sensitivity(const std::string& path);
Status save_sensitivity(const std::string& path, const SensitivityCache& cache);

// AutoMixprecision (ref:mixed-precision#options): nodes that may compute in other formats, those formats, and the
// criterion.

enum class MixedMetric : uint8_t { kL2, kKl, kCosine, kSqnr, kPsnr };
enum class MixedGoal : uint8_t { kSpeed, kQuality };

struct MixedSettings {
  std::vector<LayerSpec> target_layers;   ///< New formats of the tensors of a promoted node.
  std::vector<std::string> target_texts;  ///< The configs as written in the settings.
  std::vector<std::string> target_ops = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  std::vector<std::string> include, exclude;
  std::string subgraph_file;  ///< File of groups that are promoted together; empty: each node alone.
  std::string cache_file;     ///< File of scores, read if it exists, otherwise written; empty: none.
  int64_t data_size = 0;      ///< Number of samples; 0: all.
  int64_t output_index = 0;   ///< The compared output; out of range: all.
  MixedMetric metric = MixedMetric::kL2;
  std::optional<double> threshold = 0.0;  ///< Absent: only analyze; 0: promote everything.
  MixedGoal goal = MixedGoal::kSpeed;
  bool dual_pairs = false, skip_shared_inputs = false, unshares = false;
};

/// Returns nullopt if no format is specified. Fails for wrong values, and for known keys that are not supported.
Result<std::optional<MixedSettings>> read_mixed_settings(const Settings& settings);

}  // namespace quarkq::config
