// SPDX-License-Identifier: MIT
#include "planning/tune/tape_loops.h"

namespace quarkq::planning::QQ_ISA {
namespace {

/// Two rounds of multiply and xor-shift, enough for every bit of the position to reach the highest ones.
inline bool is_drawn(int64_t i, const Draw& draw) {
  uint32_t bits = static_cast<uint32_t>(i) * 0x9e3779b9u + draw.seed;
  bits = (bits ^ (bits >> 16)) * 0x7feb352du;
  bits = (bits ^ (bits >> 15)) * 0x846ca68bu;
  return (bits ^ (bits >> 16)) < draw.limit;
}

inline float clip(float x, float low, float high) {
  const float y = x < low ? low : x;
  return y > high ? high : y;
}

}  // namespace

void clip_the_rest(const float* x, float* y, Span span, Draw draw, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i)
    y[i] = is_drawn(i, draw) ? y[i] : clip(x[i], span.low, span.high);
}

void mix(const float* a, const float* b, float* y, Draw draw, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = is_drawn(i, draw) ? a[i] : b[i];
}

void pass_inside(const float* at, float* y, Span span, Elements elements) {
#pragma omp simd
  for (int64_t i = elements.begin; i < elements.end; ++i) y[i] = at[i] >= span.low && at[i] <= span.high ? y[i] : 0.0f;
}

}  // namespace quarkq::planning::QQ_ISA
