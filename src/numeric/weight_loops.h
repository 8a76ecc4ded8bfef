// SPDX-License-Identifier: MIT
// Vectorized loops over weights, which models have gigabytes of.
#pragma once

#include <cstdint>
#include <span>

#include "base/isa.h"

namespace quarkq::numeric {

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
