// SPDX-License-Identifier: MIT
#include "exec/kernels/image/image_loops.h"

#include <algorithm>

namespace quarkq::exec::QQ_ISA {
namespace {

/// Four inputs at a time keep the output row in registers for the bilinear case.
void add_four(const float* x, const int64_t* offsets, const float* w, float* y, int64_t n) {
  const float *a = x + offsets[0], *b = x + offsets[1], *c = x + offsets[2], *d = x + offsets[3];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += (a[i] * w[0] + b[i] * w[1]) + (c[i] * w[2] + d[i] * w[3]);
}

void add_one(const float* x, float w, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += x[i] * w;
}

}  // namespace

void weighted_rows(const RowSums& s, const float* x, float* y, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, y += s.stride) {
    std::fill_n(y, s.channels, 0.0f);
    int64_t k = s.begin[r];
    const int64_t end = s.begin[r + 1];
    for (; k + 4 <= end; k += 4) add_four(x, s.offsets + k, s.weights + k, y, s.channels);
    for (; k < end; ++k) add_one(x + s.offsets[k], s.weights[k], y, s.channels);
    if (s.factor == nullptr) continue;
    const float factor = s.factor[r];
#pragma omp simd
    for (int64_t i = 0; i < s.channels; ++i) y[i] *= factor;
  }
}

void largest_rows(const RowSums& s, const float* x, float* y, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, y += s.stride) {
    const int64_t first = s.begin[r], end = s.begin[r + 1];
    if (first == end) std::fill_n(y, s.channels, 0.0f);
    for (int64_t k = first; k < end; ++k) {
      const float* from = x + s.offsets[k];
      const float w = s.weights[k];
      if (k == first) {
#pragma omp simd
        for (int64_t i = 0; i < s.channels; ++i) y[i] = from[i] * w;
        continue;
      }
#pragma omp simd
      for (int64_t i = 0; i < s.channels; ++i) {
        const float v = from[i] * w;
        y[i] = v > y[i] ? v : y[i];
      }
    }
  }
}

}  // namespace quarkq::exec::QQ_ISA
