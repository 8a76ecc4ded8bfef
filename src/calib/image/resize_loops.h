// SPDX-License-Identifier: MIT
// The two passes of resizing in fixed point: weights have kWeightBits fraction bits, sums are rounded half up and
// clipped to 8 bits.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::calib {

constexpr int kWeightBits = 22;  ///< 8 bits of value, 22 of fraction, 2 for sign and overshoot

/// Taps as the loops read them (see Taps).
struct FixedTaps {
  const int32_t* first = nullptr;
  const int32_t* count = nullptr;
  const int32_t* weights = nullptr;
  int64_t stride = 0, size = 0;  ///< size: output pixels
};

QQ_DECLARE_ISA(
    /// One row of pixels with 1, 3 or 4 channels, resized to taps.size pixels.
    void resize_row(const uint8_t* row, const FixedTaps& taps, int64_t channels, uint8_t* out);
    /// out[i] = the sum over t < count of weights[t] * rows[t * row_bytes + i].
    void blend_rows(const uint8_t* rows, int64_t row_bytes, const int32_t* weights, int64_t count, uint8_t* out);)

}  // namespace quarkq::calib
