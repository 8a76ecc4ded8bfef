// SPDX-License-Identifier: MIT
#include "exec/kernels/image/image_loops.h"

namespace quarkq::exec::QQ_ISA {

void combine_rows(const float* rows, int64_t stride, const TapList& taps, float* y, int64_t n) {
  const int64_t* at = taps.index;
  const float* w = taps.weight;
  const float* r0 = rows + at[0] * stride;
  if (taps.width == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = w[0] * r0[i];
    return;
  }
  const float* r1 = rows + at[1] * stride;
  const float w0 = w[0], w1 = w[1];
  if (taps.width == 2) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = w0 * r0[i] + w1 * r1[i];
    return;
  }
  if (taps.width != 4) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = w0 * r0[i] + w1 * r1[i];
    for (int64_t k = 2; k < taps.width; ++k) {
      const float* row = rows + at[k] * stride;
      const float weight = w[k];
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) y[i] += weight * row[i];
    }
    return;
  }
  const float* r2 = rows + at[2] * stride;
  const float* r3 = rows + at[3] * stride;
  const float w2 = w[2], w3 = w[3];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = (w0 * r0[i] + w1 * r1[i]) + (w2 * r2[i] + w3 * r3[i]);
}

void combine_units(const float* x, const TapList& taps, float* y, int64_t count, int64_t inner) {
  const int64_t width = taps.width;
  if (inner > 1) {
    for (int64_t o = 0; o < count; ++o) {
      combine_rows(x, inner, {taps.index + o * width, taps.weight + o * width, width}, y + o * inner, inner);
    }
    return;
  }
  const int64_t* at = taps.index;
  const float* w = taps.weight;
  if (width == 2) {
#pragma omp simd
    for (int64_t o = 0; o < count; ++o) y[o] = w[2 * o] * x[at[2 * o]] + w[2 * o + 1] * x[at[2 * o + 1]];
    return;
  }
  for (int64_t o = 0; o < count; ++o) {
    float sum = 0;
    for (int64_t k = 0; k < width; ++k) sum += w[o * width + k] * x[at[o * width + k]];
    y[o] = sum;
  }
}

void combine_squares(const float* rows, const BilinearRow& row, float* y) {
  const TapList &vertical = row.vertical, &horizontal = row.horizontal;
  const int64_t stride = row.stride, count = row.count, inner = row.inner;
  const float* top = rows + vertical.index[0] * stride;
  const float* bottom = rows + vertical.index[1] * stride;
  const float v0 = vertical.weight[0], v1 = vertical.weight[1];
  const int64_t* at = horizontal.index;
  const float* w = horizontal.weight;
  if (inner == 1) {
#pragma omp simd
    for (int64_t o = 0; o < count; ++o) {
      const int64_t left = at[2 * o], right = at[2 * o + 1];
      const float h0 = w[2 * o], h1 = w[2 * o + 1];
      y[o] = h0 * v0 * top[left] + h1 * v0 * top[right] + h0 * v1 * bottom[left] + h1 * v1 * bottom[right];
    }
    return;
  }
  for (int64_t o = 0; o < count; ++o) {
    const int64_t left = at[2 * o] * inner, right = at[2 * o + 1] * inner;
    const float h0 = w[2 * o], h1 = w[2 * o + 1];
    const float a = h0 * v0, b = h1 * v0, c = h0 * v1, d = h1 * v1;
    const float *p = top + left, *q = top + right, *r = bottom + left, *s = bottom + right;
    float* out = y + o * inner;
#pragma omp simd
    for (int64_t i = 0; i < inner; ++i) out[i] = a * p[i] + b * q[i] + c * r[i] + d * s[i];
  }
}

}  // namespace quarkq::exec::QQ_ISA
