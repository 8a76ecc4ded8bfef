// SPDX-License-Identifier: MIT
// Weights to stored integers (ref:scales#stored-weights), per tensor or per channel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/isa.h"
#include "numeric/quant_params.h"

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

// Vectorized loops over weights, which models have gigabytes of.

/// Smallest and largest of some values; has_nan says that there are NaN among them, which neither counts.
struct Extremes {
  float min = 0, max = 0;
  bool has_nan = false;
};

/// A matrix [depth, columns], row-major, that is stored in 4 bits in blocks along its depth.
struct NBitsMatrix {
  const float* values = nullptr;
  int64_t depth = 0, columns = 0;
  int64_t block = 0;  ///< even
  bool is_symmetric = false;
};

/// Where its blocks go: codes [columns, blocks, block / 2], two a byte, the first in the low half; what lies beyond the
/// depth is 0 already. Scales and zero points, integers, are [columns, blocks].
struct NBitsBlocks {
  uint8_t* packed = nullptr;
  float *scales = nullptr, *zeros = nullptr;
};

QQ_DECLARE_ISA(
    /// REQUIRES: count >= 1.
    Extremes extremes(const float* values, int64_t count);
    /// clip_to_bfloat16() would change a value, if only the sign of a zero.
    bool needs_bfloat16_clip(const float* values, int64_t count);
    /// Magnitudes between the smallest normal and the largest number of bfloat16; zeros become +0, NaN stays.
    void clip_to_bfloat16(const float* values, float* clipped, int64_t count);
    /// Each block of the columns from `begin` to `end` rounded for itself, as ONNX Runtime's tool does
    /// (ref:writing#matmulnbits): qdq::round_blocks() is the definition.
    void round_nbits(const NBitsMatrix& matrix, int64_t begin, int64_t end, const NBitsBlocks& out);)

/// extremes() of any number of values: 0 and 0 where there are none, and without a vectorized loop where few stand side
/// by side.
Extremes extremes_of(std::span<const float> values);

}  // namespace quarkq::numeric
