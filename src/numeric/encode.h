// SPDX-License-Identifier: MIT
// Weights to stored integers (ref:scales#stored-weights), per tensor or per channel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numeric/range_to_params.h"

namespace quarkq::numeric {

/// How a row-major array falls into channels: index = (outer * channels + channel) * inner + rest. One channel: per
/// tensor.
struct ChannelSplit {
  int64_t outer = 1, channels = 1, inner = 1;
};
/// The split of an array of shape `dims` for `spec`.
ChannelSplit split_channels(const std::vector<int64_t>& dims, const QuantSpec& spec);

/// Parameters of each channel from its smallest and largest value; with `search` the power-of-two scale with the
/// smallest squared error among five around that (ref:scales#power-of-two-scales). Clipping is to `limits`.
Result<std::vector<QuantParams>> weight_params(std::span<const float> values, const ChannelSplit& split,
                                               const QuantSpec& spec, IntegerRange limits, bool search);

/// The values of one channel, in order. REQUIRES: 0 <= channel < split.channels.
std::vector<float> channel_values(std::span<const float> values, const ChannelSplit& split, int64_t channel);

/// round_half_even(value / scale) + zero_point, clipped to `limits`; NaN becomes the lower limit.
std::vector<int32_t> encode(std::span<const float> values, const ChannelSplit& split,
                            const std::vector<QuantParams>& params, IntegerRange limits);

}  // namespace quarkq::numeric
