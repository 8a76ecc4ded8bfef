// SPDX-License-Identifier: MIT
// Conversion of weights to stored integers (ref:scales#stored-weights), per tensor or per channel.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/isa.h"
#include "numeric/quant_params.h"

namespace quarkq::numeric {

/// Division of a row-major array into channels: index = (outer * channels + channel) * inner + rest. One channel means
/// per tensor.
struct ChannelSplit {
  int64_t outer = 1, channels = 1, inner = 1;
};
/// Returns the split of an array of shape `dims` for `spec`.
ChannelSplit split_channels(const std::vector<int64_t>& dims, const QuantSpec& spec);

/// Returns the parameters of each channel, computed from its smallest and largest value. With `search`, selects the
/// power-of-two scale with the smallest squared error among five candidates (ref:scales#power-of-two-scales). Values
/// are clipped to `limits`.
Result<std::vector<QuantParams>> weight_params(std::span<const float> values, const ChannelSplit& split,
                                               const QuantSpec& spec, IntegerRange limits, bool search);

/// Returns the values of one channel in order. REQUIRES: 0 <= channel < split.channels.
std::vector<float> channel_values(std::span<const float> values, const ChannelSplit& split, int64_t channel);

/// Returns round_half_even(value / scale) + zero_point, clipped to `limits`. NaN becomes the lower limit.
std::vector<int32_t> encode(std::span<const float> values, const ChannelSplit& split,
                            const std::vector<QuantParams>& params, IntegerRange limits);

// Vectorized loops over weights.

/// Smallest and largest value, ignoring NaN. `has_nan` is true if there was a NaN.
struct Extremes {
  float min = 0, max = 0;
  bool has_nan = false;
};

/// A row-major matrix [depth, columns] to be stored in blocks of 2, 3, 4 or 8 bits along its depth.
struct NBitsMatrix {
  const float* values = nullptr;
  int64_t depth = 0, columns = 0;
  int64_t block = 0;  ///< Must be a multiple of 4.
  bool is_symmetric = false;
  int bits = 4;  ///< 3 bits are stored in 4, with 4 added to codes and zero points.
};

/// Output of the blocks: codes [columns, blocks, bytes of a block], the first of a byte in its lowest bits. Codes
/// beyond the depth must be 0 already. Scales and integer zero points are [columns, blocks].
struct NBitsBlocks {
  uint8_t* packed = nullptr;
  float *scales = nullptr, *zeros = nullptr;
};

/// Returns `scale`, or the smallest normal float32 with its sign if it is subnormal: the inverse of a smaller scale can
/// be infinite. 0 stays 0.
inline float normal_scale(float scale) {
  constexpr float kLeast = std::numeric_limits<float>::min();
  return scale != 0 && std::abs(scale) < kLeast ? std::copysign(kLeast, scale) : scale;
}

QQ_DECLARE_ISA(
    /// REQUIRES: count >= 1.
    Extremes extremes(const float* values, int64_t count);
    /// Returns whether clip_to_bfloat16() would change a value, including the sign of a zero.
    bool needs_bfloat16_clip(const float* values, int64_t count);
    /// Clips magnitudes to the range from the smallest normal to the largest number of bfloat16. Zeros become +0; NaN
    /// stays.
    void clip_to_bfloat16(const float* values, float* clipped, int64_t count);
    /// Rounds each block of the columns from `begin` to `end` independently, like ONNX Runtime's tool
    /// (ref:writing#matmulnbits). qdq::round_blocks() is the definition.
    void round_nbits(const NBitsMatrix& matrix, int64_t begin, int64_t end, const NBitsBlocks& out);)

/// Returns extremes() of any number of values; 0 and 0 for no values. Uses no vectorized loop for few values.
Extremes extremes_of(std::span<const float> values);

}  // namespace quarkq::numeric
