// SPDX-License-Identifier: MIT
// Elementary functions without branches and calls, so that a compiler vectorizes loops over them. Float32, relative
// error
// <= 3e-7 (about 2 ulp) wherever the result is a normal number; NaN in, NaN out. No fused multiply-add is used, so
// every instruction set gives the same bits. The polynomials were fitted for this file at Chebyshev nodes, in double.
// Only *.isa.cpp files include this: the functions have internal linkage, so each instruction set compiles its own.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace quarkq::exec::simd {
namespace {

/// 2^n, n in [-127, 128] (-127 gives 0, 128 infinity).
inline float power_of_two(int32_t n) { return std::bit_cast<float>((static_cast<uint32_t>(n) + 127u) << 23); }

/// x = n ln2 + r with |r| <= ln2 / 2. `tail` = exp(r) - 1 - r, computed as r^2 q(r).
struct ReducedExp {
  int32_t n;
  float r;
  float tail;
};

inline ReducedExp reduce_exp(float x) {
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // the high part times n is exact
  const float shifted = x * 1.44269504f + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float q = 1.98412698e-4f;  // Taylor, next term 5e-9
  q = q * r + 1.38888889e-3f;
  q = q * r + 8.33333333e-3f;
  q = q * r + 4.16666667e-2f;
  q = q * r + 1.66666667e-1f;
  q = q * r + 0.5f;
  const uint32_t bits = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRounder);
  return {static_cast<int32_t>(bits), r, r * r * q};
}

inline float clamp_keeping_nan(float x, float low, float high) {
  const float y = x < low ? low : x;
  return y > high ? high : y;
}

inline float exp(float x) {
  const ReducedExp e = reduce_exp(clamp_keeping_nan(x, -104.0f, 89.0f));
  const int32_t half = e.n >> 1;  // two factors: 2^n alone would overflow or underflow early
  return (1.0f + (e.r + e.tail)) * power_of_two(half) * power_of_two(e.n - half);
}

/// exp(x) - 1, exact near zero, too.
inline float expm1(float x) {
  const ReducedExp e = reduce_exp(clamp_keeping_nan(x, -20.0f, 89.0f));
  const int32_t half = e.n >> 1;
  const float first = power_of_two(half), second = power_of_two(e.n - half);
  const float scaled = (e.r + e.tail) * first * second + (first * second - 1.0f);
  const float large = (1.0f + (e.r + e.tail)) * first * second;  // 2^n may be infinite where the result is not
  return e.n > 60 ? large : scaled;
}

inline float sigmoid(float x) {
  const float e = exp(-std::fabs(x));
  const float numerator = x < 0.0f ? e : 1.0f;
  return x != x ? x : numerator / (1.0f + e);
}

inline float tanh(float x) {
  const float size = std::fabs(x);
  const float t = size * size;
  float p = 2.2695016e-3f;
  p = p * t - 8.3231872e-3f;
  p = p * t + 2.17625029e-2f;
  p = p * t - 5.39584616e-2f;
  p = p * t + 1.33333001e-1f;
  p = p * t - 3.33333331e-1f;
  const float near = size + size * (t * p);
  const float far = 1.0f - 2.0f / (exp(2.0f * size) + 1.0f);
  return std::copysign(size < 0.625f ? near : far, x);
}

inline float erf(float x) {
  const float size = std::fabs(x);
  const float t = size * size;
  float p = -9.667044298e-6f;  // erf(x) / x on [0, 1]
  p = p * t + 1.126595893e-4f;
  p = p * t - 8.484080391e-4f;
  p = p * t + 5.221031807e-3f;
  p = p * t - 2.686543073e-2f;
  p = p * t + 1.128378250e-1f;
  p = p * t - 3.761263847e-1f;
  p = p * t + 1.128379167f;
  const float bounded = clamp_keeping_nan(size, 0.0f, 4.0f);
  float g = -1.6371514e-6f;  // -log(erfc(x)) on [1, 4]
  g = g * bounded + 4.60580427e-5f;
  g = g * bounded - 5.96805626e-4f;
  g = g * bounded + 4.75959629e-3f;
  g = g * bounded - 2.64211360e-2f;
  g = g * bounded + 1.10080115e-1f;
  g = g * bounded + 6.31826052e-1f;
  g = g * bounded + 1.13023343f;
  g = g * bounded - 3.20138050e-4f;
  const float far = 1.0f - exp(-g);
  return std::copysign(size < 1.0f ? size * p : far, x);
}

/// 2 atanh(s) = log((1 + s) / (1 - s)) for |s| <= 1/3: Taylor, relative error below 2e-9.
inline float twice_atanh(float s) {
  const float t = s * s;
  float p = 2.0f / 17.0f;
  p = p * t + 2.0f / 15.0f;
  p = p * t + 2.0f / 13.0f;
  p = p * t + 2.0f / 11.0f;
  p = p * t + 2.0f / 9.0f;
  p = p * t + 2.0f / 7.0f;
  p = p * t + 2.0f / 5.0f;
  p = p * t + 2.0f / 3.0f;
  return 2.0f * s + s * (t * p);
}

inline float log(float x) {
  constexpr uint32_t kSqrtHalf = 0x3F3504F3;  // bits of sqrt(1/2)
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  const uint32_t offset = std::bit_cast<uint32_t>(scaled) - kSqrtHalf;
  const int32_t exponent = static_cast<int32_t>(offset) >> 23;
  const float m = std::bit_cast<float>((offset & 0x007FFFFFu) + kSqrtHalf);  // in [sqrt(1/2), sqrt(2))
  const float n = static_cast<float>(exponent) - (tiny ? 23.0f : 0.0f);
  const float f = m - 1.0f;
  const float s = f / (2.0f + f);
  const float t = s * s;
  float p = 2.0f / 11.0f;
  p = p * t + 2.0f / 9.0f;
  p = p * t + 2.0f / 7.0f;
  p = p * t + 2.0f / 5.0f;
  p = p * t + 2.0f / 3.0f;
  // 2 atanh(s) = f - s (f - t p), which keeps the leading f exact.
  const float small = f - s * (f - t * p);
  float y = n * 0.693359375f + (n * -2.12194440e-4f + small);
  y = x == INFINITY ? x : y;
  y = x == 0.0f ? -INFINITY : y;
  return x < 0.0f || x != x ? NAN : y;
}

/// log(1 + exp(x))
inline float softplus(float x) {
  const float e = exp(-std::fabs(x));
  return (x > 0.0f ? x : 0.0f) + (x != x ? x : twice_atanh(e / (2.0f + e)));
}

}  // namespace
}  // namespace quarkq::exec::simd
