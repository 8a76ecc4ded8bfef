// SPDX-License-Identifier: MIT
// Trigonometric functions without branches and calls, computed in double and rounded to float32 once: error below 1
// ulp. sin, cos and tan are right for |x| <= kLargestAngle; larger angles are for the C library. The polynomial of atan
// was fitted for this file at Chebyshev nodes. Only *.isa.cpp files include this.
#pragma once

#include <cmath>
#include <cstdint>

namespace quarkq::exec::simd {
namespace {

constexpr float kLargestAngle = 1048576.0f;  ///< 2^20: the number of quarter turns has no more than 20 bits

/// Polynomial in x, highest coefficient first.
template <typename... Coefficients>
inline double polynomial(double x, double highest, Coefficients... rest) {
  double y = highest;
  ((y = y * x + rest), ...);
  return y;
}

/// x = turns * pi / 2 + r, |r| <= pi / 4.
struct ReducedAngle {
  double turns, sine, cosine;  ///< sine and cosine of r
};

inline ReducedAngle reduce_angle(double x) {
  constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  const double turns = (x * 0.63661977236758134 + kRounder) - kRounder;
  // pi / 2 in two parts; the first has 32 bits, so its product is exact.
  const double r = (x - turns * 1.57079632673412561417e+00) - turns * 6.07710050650619224932e-11;
  const double t = r * r;
  const double sine = r + r * t * polynomial(t, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6);
  const double cosine = 1.0 + t * polynomial(t, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5);
  return {turns, sine, cosine};
}

/// Returns turns modulo 4 in [0, 4), as a double.
inline double quarter(double turns) { return turns - 4.0 * std::floor(turns * 0.25); }

inline float sine_of(const ReducedAngle& a, double turns) {
  const double q = quarter(turns);
  const double size = q == 1.0 || q == 3.0 ? a.cosine : a.sine;
  return static_cast<float>(q >= 2.0 ? -size : size);
}

inline float sin(float x) {
  const ReducedAngle a = reduce_angle(static_cast<double>(x));
  const float y = sine_of(a, a.turns);
  return x == 0.0f ? x : y;  // keeps the sign of zero
}
inline float cos(float x) {
  const ReducedAngle a = reduce_angle(static_cast<double>(x));
  return sine_of(a, a.turns + 1.0);
}
inline float tan(float x) {
  const ReducedAngle a = reduce_angle(static_cast<double>(x));
  const double q = quarter(a.turns);
  const bool odd = q == 1.0 || q == 3.0;
  const float y = static_cast<float>((odd ? -a.cosine : a.sine) / (odd ? a.sine : a.cosine));
  return x == 0.0f ? x : y;
}

/// atan(x) for x >= 0 or NaN, infinity too.
inline double atan_positive(double x) {
  constexpr double kEighth = 0.41421356237309505;  // tan(pi / 8)
  const bool large = x > 1.0;
  const double y = large ? 1.0 / x : x;
  const bool upper = y > kEighth;
  const double s = upper ? (y - 1.0) / (y + 1.0) : y;
  const double t = s * s;
  const double p =
      polynomial(t, -3.769960599392459e-2, 6.976886100715135e-2, -8.993191263862131e-2, 1.1103532115290324e-1,
                 -1.4285391105576173e-1, 1.9999993184885104e-1, -3.3333333278345534e-1);
  const double small = (upper ? 0.78539816339744831 : 0.0) + (s + s * t * p);
  return large ? 1.57079632679489662 - small : small;
}

inline float atan(float x) {
  const auto y = static_cast<float>(atan_positive(std::fabs(static_cast<double>(x))));
  return std::copysign(y, x);
}
inline float asin(float x) {
  const double size = std::fabs(static_cast<double>(x));
  return std::copysign(static_cast<float>(atan_positive(size / std::sqrt((1.0 - size) * (1.0 + size)))), x);
}
inline float acos(float x) {
  const auto wide = static_cast<double>(x);
  return static_cast<float>(2.0 * atan_positive(std::sqrt((1.0 - wide) / (1.0 + wide))));
}

}  // namespace
}  // namespace quarkq::exec::simd
