// SPDX-License-Identifier: MIT
// Largest magnitudes along the last axis of activations over all calibration samples.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pass/context.h"

namespace quarkq::rewrite {

using ChannelMaxima = std::map<ir::ValueId, std::vector<float>>;

/// Returns, for each of `tensors` (float value -> size of its last axis), the largest |x| per index of that axis; 0 if
/// no value was seen, ignoring NaN. Needs one pass over the samples and keeps none.
Result<ChannelMaxima> channel_maxima(const pass::FloatContext& context, const std::map<ir::ValueId, int64_t>& tensors);

}  // namespace quarkq::rewrite
