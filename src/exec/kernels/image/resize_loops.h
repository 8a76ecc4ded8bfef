// SPDX-License-Identifier: MIT
// Vectorized float32 loops of interpolation.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

/// Taps of consecutive outputs, `width` each.
struct TapList {
  const int64_t* index;
  const float* weight;
  int64_t width;
};

/// A row of bilinear outputs, units of `inner` floats: both tap lists have width 2.
struct BilinearRow {
  TapList vertical, horizontal;
  int64_t stride = 0;  ///< floats from one input row to the next
  int64_t count = 0, inner = 1;
};

QQ_DECLARE_ISA(
    /// y[i] = sum over k < width of weight[k] * rows[index[k] * stride + i], i < n.
    void combine_rows(const float* rows, int64_t stride, const TapList& taps, float* y, int64_t n);
    /// For each of `count` outputs, units of `inner` floats: y[o, c] = sum of weight * x[index, c].
    void combine_units(const float* x, const TapList& taps, float* y, int64_t count, int64_t inner);
    /// Bilinear: both rows weighted by `vertical`, along them as combine_units().
    /// The four products are added in ONNX Runtime's order, (h0 v0) a + (h1 v0) b + (h0 v1) c + (h1 v1) d: on quantized
    /// values exact ties are common, and another order rounds them the other way (seen: 1.2 % of a tensor).
    void combine_squares(const float* rows, const BilinearRow& row, float* y);)

}  // namespace quarkq::exec
