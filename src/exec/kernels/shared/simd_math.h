// SPDX-License-Identifier: MIT
// Elementary functions without branches and calls, so that a compiler vectorizes loops over them. Float32, relative
// error <= 3e-7 (about 2 ulp) wherever the result is a normal number; NaN in, NaN out. Instruction sets with a fused
// multiply-add use it, so their last bits differ from those without. The polynomials were fitted for this file at
// Chebyshev nodes, in double.
// Only *.isa.cpp files include this: the functions have internal linkage, so each instruction set compiles its own.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace quarkq::exec::simd {
namespace {

/// a * b + c, rounded once where the instruction set does that in one step.
inline float multiply_add(float a, float b, float c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Polynomial in x, highest coefficient first.
template <typename... Coefficients>
inline float polynomial(float x, float highest, Coefficients... rest) {
  float y = highest;
  ((y = multiply_add(y, x, rest)), ...);
  return y;
}

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
  const float shifted = multiply_add(x, 1.44269504f, kRounder);
  const float n = shifted - kRounder;
  const float r = multiply_add(n, -kLn2Low, multiply_add(n, -kLn2High, x));
  const float q = polynomial(r, 1.39412156e-3f, 8.36682785e-3f, 4.16663513e-2f, 1.66665405e-1f, 0.5f);
  const uint32_t bits = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRounder);
  return {static_cast<int32_t>(bits), r, r * r * q};
}

inline float clamp_keeping_nan(float x, float low, float high) {
  const float y = x < low ? low : x;
  return y > high ? high : y;
}

/// Results below the smallest normal number are 0.
inline float exp(float x) {
  const ReducedExp e = reduce_exp(x);
  // 2^n is added to the exponent: as a factor it would overflow before the result does.
  const uint32_t bits = std::bit_cast<uint32_t>(1.0f + (e.r + e.tail)) + (static_cast<uint32_t>(e.n) << 23);
  float y = std::bit_cast<float>(bits);
  y = x > 88.7228394f ? INFINITY : y;
  y = x < -87.3365479f ? 0.0f : y;
  return x != x ? x : y;
}

/// exp(x) for x in [-88, 88], or NaN; 0 at -88.
inline float moderate_exp(float x) {
  const ReducedExp e = reduce_exp(x);
  return (1.0f + (e.r + e.tail)) * power_of_two(e.n);
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
  const float size = std::fabs(x);
  const float e = moderate_exp(-(size > 88.0f ? 88.0f : size));
  const float numerator = x < 0.0f ? e : 1.0f;
  return x != x ? x : numerator / (1.0f + e);
}

inline float tanh(float x) {
  const float size = std::fabs(x);
  const float t = size * size;
  const float p =
      polynomial(t, 2.2695016e-3f, -8.3231872e-3f, 2.17625029e-2f, -5.39584616e-2f, 1.33333001e-1f, -3.33333331e-1f);
  const float near = multiply_add(size, t * p, size);
  const float far = 1.0f - 2.0f / (moderate_exp(2.0f * (size > 16.0f ? 16.0f : size)) + 1.0f);
  return std::copysign(size < 0.625f ? near : far, x);
}

inline float erf(float x) {
  const float size = std::fabs(x);
  // erf(x) / x on [0, 1]
  const float p = polynomial(size * size, -9.667044298e-6f, 1.126595893e-4f, -8.484080391e-4f, 5.221031807e-3f,
                             -2.686543073e-2f, 1.128378250e-1f, -3.761263847e-1f, 1.128379167f);
  // -log(erfc(x)) on [1, 4]
  const float g = polynomial(size > 4.0f ? 4.0f : size, -1.6371514e-6f, 4.60580427e-5f, -5.96805626e-4f, 4.75959629e-3f,
                             -2.64211360e-2f, 1.10080115e-1f, 6.31826052e-1f, 1.13023343f, -3.20138050e-4f);
  const float far = 1.0f - moderate_exp(-g);
  return std::copysign(size < 1.0f ? size * p : far, x);
}

/// 2 atanh(s) = log((1 + s) / (1 - s)) for |s| <= 1/3: Taylor, relative error below 2e-9.
inline float twice_atanh(float s) {
  const float t = s * s;
  const float p = polynomial(t, 2.0f / 17.0f, 2.0f / 15.0f, 2.0f / 13.0f, 2.0f / 11.0f, 2.0f / 9.0f, 2.0f / 7.0f,
                             2.0f / 5.0f, 2.0f / 3.0f);
  return multiply_add(s, t * p, 2.0f * s);
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
  const float p = polynomial(t, 2.0f / 11.0f, 2.0f / 9.0f, 2.0f / 7.0f, 2.0f / 5.0f, 2.0f / 3.0f);
  // 2 atanh(s) = f - s (f - t p), which keeps the leading f exact.
  const float small = multiply_add(-s, multiply_add(-t, p, f), f);
  float y = multiply_add(n, 0.693359375f, multiply_add(n, -2.12194440e-4f, small));
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
