// SPDX-License-Identifier: MIT
// BatchNormalization at inference time as what it is: factor * x + offset per channel, in float32 as the reference
// computes it.
#pragma once

#include <optional>
#include <vector>

#include "config/settings.h"
#include "ir/graph.h"

namespace quarkq::rewrite {

struct ChannelAffine {
  std::vector<float> factor;  ///< gamma / sqrt(variance + epsilon)
  std::vector<float> offset;  ///< beta - mean * factor
};

/// Nothing when it is in training mode, has more outputs, or its four parameters are not stored floats of one length.
std::optional<ChannelAffine> read_batch_norm(const ir::Graph& graph, const ir::Node& node,
                                             const config::Settings& settings);

}  // namespace quarkq::rewrite
