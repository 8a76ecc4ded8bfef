// SPDX-License-Identifier: MIT
// Largest magnitudes along the last axis of activations, over all calibration samples.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pass/context.h"

namespace quarkq::rewrite {

using ChannelMaxima = std::map<ir::ValueId, std::vector<float>>;

/// For each of `tensors` (float value -> size of its last axis) the largest |x| of each index of that axis; 0 where
/// nothing was seen, NaN does not count. One pass over the samples, none of which is kept.
Result<ChannelMaxima> channel_maxima(const pass::FloatContext& context, const std::map<ir::ValueId, int64_t>& tensors);

}  // namespace quarkq::rewrite
