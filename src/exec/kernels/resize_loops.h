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

QQ_DECLARE_ISA(
  /// y[i] = sum over k < width of weight[k] * rows[index[k] * stride + i], i < n.
  void combine_rows(const float* rows, int64_t stride, const TapList& taps, float* y, int64_t n);
  /// For each of `count` outputs, units of `inner` floats: y[o, c] = sum of weight * x[index, c].
  void combine_units(const float* x, const TapList& taps, float* y, int64_t count, int64_t inner);
)

}  // namespace quarkq::exec
