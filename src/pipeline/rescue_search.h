// SPDX-License-Identifier: MIT
// Which nodes cost the outputs most, found in far fewer trials than there are nodes.
#pragma once

#include <functional>
#include <vector>

#include "base/error.h"
#include "ir/ids.h"

namespace quarkq::pipeline {

/// Noise energy of the outputs relative to the signal when only `nodes` are quantized.
using PartNoise = std::function<Result<double>(const std::vector<ir::NodeId>& nodes)>;

struct SearchLimits {
  size_t trials = 64;          ///< calls of the noise function at most
  size_t first_parts = 16;     ///< equal parts of the nodes, in node order, that the search starts with
  double small_noise = 0.002;  ///< parts that have less together are not divided any more
};

struct NoisyNode {
  ir::NodeId node;
  double noise = 0;  ///< of a part that was not divided: the mean of its nodes
};

/// The noisiest nodes first. Parts of the graph are measured and the noisiest one is divided, until single nodes are
/// left or the limits are reached; nodes of parts that were not divided follow in the order of their parts' noise.
/// Noise of parts is taken as additive, which holds while outputs still resemble the float ones.
Result<std::vector<NoisyNode>> rank_by_noise(const std::vector<ir::NodeId>& nodes, const PartNoise& noise,
                                             const SearchLimits& limits);

}  // namespace quarkq::pipeline
