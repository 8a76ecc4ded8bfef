// SPDX-License-Identifier: MIT
// Values are clamped as floats, before they become integers, so no conversion overflows. Limits below 2^22 are exact in
// float32 together with every difference that occurs here; wider ones (int32) go through doubles, which hold them
// exactly.
#include <cmath>

#include "numeric/linear_quant.h"

namespace quarkq::numeric::QQ_ISA {
namespace {

constexpr int64_t kFloatExact = int64_t{1} << 22;

bool fits_float(int64_t zero_point, int64_t qmin, int64_t qmax) {
  return qmin > -kFloatExact && qmax < kFloatExact && zero_point > -kFloatExact && zero_point < kFloatExact;
}

constexpr float kInt64Limit = 9223372036854775808.0f;  // 2^63

/// rne(x / scale) clamped to [low, high]; what quantize() gives, less the zero point. Quotients from kInt64Limit on
/// (and NaN) become `low`; `saturate` leaves them at `high`.
template <typename Real>
inline Real clamped_steps(float x, float scale, Real low, Real high, bool saturate) {
  const float steps = std::rint(x / scale);
  const auto wide = static_cast<Real>(steps);
  Real v = wide > low ? wide : low;  // NaN -> low
  v = v < high ? v : high;
  return steps < kInt64Limit || saturate ? v : low;
}

template <bool kSaturates>
void fake_quantize_any(const float* x, float* y, int64_t n, const LinearParams& params) {
  const float scale = params.scale;
  const auto zero_point = static_cast<int32_t>(params.zero_point);
  const auto qmin = static_cast<int32_t>(params.range.min), qmax = static_cast<int32_t>(params.range.max);
  if (fits_float(zero_point, qmin, qmax)) {
    const auto low = static_cast<float>(qmin - zero_point);
    const auto high = static_cast<float>(qmax - zero_point);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float v = clamped_steps<float>(x[i], scale, low, high, kSaturates);
      y[i] = (v + 0.0f) * scale;  // -0 + 0 = +0: an integer has no negative zero
    }
    return;
  }
  const double low = static_cast<double>(qmin) - zero_point;
  const double high = static_cast<double>(qmax) - zero_point;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double v = clamped_steps<double>(x[i], scale, low, high, kSaturates);
    y[i] = (static_cast<float>(v) + 0.0f) * scale;
  }
}

template <typename Q, bool kSaturates>
void quantize_small(const float* x, Q* y, int64_t n, const LinearParams& params) {
  const auto zero_point = static_cast<int32_t>(params.zero_point);
  const auto low = static_cast<float>(params.range.min - zero_point);
  const auto high = static_cast<float>(params.range.max - zero_point);
  const float scale = params.scale;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float v = clamped_steps<float>(x[i], scale, low, high, kSaturates);
    y[i] = static_cast<Q>(static_cast<int32_t>(v) + zero_point);
  }
}

template <typename Q>
void quantize_to(const float* x, Q* y, int64_t n, const LinearParams& params) {
  if (params.overflow == Overflow::kSaturate) return quantize_small<Q, true>(x, y, n, params);
  quantize_small<Q, false>(x, y, n, params);
}

template <typename Q>
void dequantize_small(const Q* x, float* y, int64_t n, float scale, int32_t zero_point) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(static_cast<int32_t>(x[i]) - zero_point) * scale;
}

template <typename Q, bool kSaturates>
void quantize_each(const float* x, Q* y, int64_t n, const ElementParams<Q>& params) {
  const auto qmin = static_cast<float>(params.range.min), qmax = static_cast<float>(params.range.max);
  const float* scale = params.scale;
  const Q* zero_point = params.zero_point;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const auto zero = static_cast<int32_t>(zero_point[i]);
    const float low = qmin - static_cast<float>(zero), high = qmax - static_cast<float>(zero);
    const float v = clamped_steps<float>(x[i], scale[i], low, high, kSaturates);
    y[i] = static_cast<Q>(static_cast<int32_t>(v) + zero);
  }
}

template <typename Q>
void quantize_each_to(const float* x, Q* y, int64_t n, const ElementParams<Q>& params) {
  if (params.overflow == Overflow::kSaturate) return quantize_each<Q, true>(x, y, n, params);
  quantize_each<Q, false>(x, y, n, params);
}

template <typename Q>
void dequantize_each(const Q* x, float* y, int64_t n, const ElementParams<Q>& params) {
  const float* scale = params.scale;
  const Q* zero_point = params.zero_point;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<float>(static_cast<int32_t>(x[i]) - static_cast<int32_t>(zero_point[i])) * scale[i];
  }
}

}  // namespace

void fake_quantize(const float* x, float* y, int64_t n, const LinearParams& params) {
  if (params.overflow == Overflow::kSaturate) return fake_quantize_any<true>(x, y, n, params);
  fake_quantize_any<false>(x, y, n, params);
}

void quantize_to_i8(const float* x, int8_t* y, int64_t n, const LinearParams& p) { quantize_to(x, y, n, p); }
void quantize_to_u8(const float* x, uint8_t* y, int64_t n, const LinearParams& p) { quantize_to(x, y, n, p); }
void quantize_to_i16(const float* x, int16_t* y, int64_t n, const LinearParams& p) { quantize_to(x, y, n, p); }
void quantize_to_u16(const float* x, uint16_t* y, int64_t n, const LinearParams& p) { quantize_to(x, y, n, p); }

void quantize_to_i32(const float* x, int32_t* y, int64_t n, const LinearParams& params) {
  const auto zero_point = static_cast<double>(params.zero_point);
  const double low = static_cast<double>(params.range.min) - zero_point;
  const double high = static_cast<double>(params.range.max) - zero_point;
  const float scale = params.scale;
  const bool saturate = params.overflow == Overflow::kSaturate;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double v = clamped_steps<double>(x[i], scale, low, high, saturate);
    y[i] = static_cast<int32_t>(v + zero_point);
  }
}

void dequantize_i8(const int8_t* x, float* y, int64_t n, float scale, int32_t zp) {
  dequantize_small(x, y, n, scale, zp);
}
void dequantize_u8(const uint8_t* x, float* y, int64_t n, float scale, int32_t zp) {
  dequantize_small(x, y, n, scale, zp);
}
void dequantize_i16(const int16_t* x, float* y, int64_t n, float scale, int32_t zp) {
  dequantize_small(x, y, n, scale, zp);
}
void dequantize_u16(const uint16_t* x, float* y, int64_t n, float scale, int32_t zp) {
  dequantize_small(x, y, n, scale, zp);
}

void dequantize_i32(const int32_t* x, float* y, int64_t n, float scale, int32_t zero_point) {
  const auto zp = static_cast<double>(zero_point);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(static_cast<double>(x[i]) - zp) * scale;
}

void quantize_each_to_i8(const float* x, int8_t* y, int64_t n, const ElementParams<int8_t>& p) {
  quantize_each_to(x, y, n, p);
}
void quantize_each_to_u8(const float* x, uint8_t* y, int64_t n, const ElementParams<uint8_t>& p) {
  quantize_each_to(x, y, n, p);
}
void quantize_each_to_i16(const float* x, int16_t* y, int64_t n, const ElementParams<int16_t>& p) {
  quantize_each_to(x, y, n, p);
}
void quantize_each_to_u16(const float* x, uint16_t* y, int64_t n, const ElementParams<uint16_t>& p) {
  quantize_each_to(x, y, n, p);
}
void dequantize_each_i8(const int8_t* x, float* y, int64_t n, const ElementParams<int8_t>& p) {
  dequantize_each(x, y, n, p);
}
void dequantize_each_u8(const uint8_t* x, float* y, int64_t n, const ElementParams<uint8_t>& p) {
  dequantize_each(x, y, n, p);
}
void dequantize_each_i16(const int16_t* x, float* y, int64_t n, const ElementParams<int16_t>& p) {
  dequantize_each(x, y, n, p);
}
void dequantize_each_u16(const uint16_t* x, float* y, int64_t n, const ElementParams<uint16_t>& p) {
  dequantize_each(x, y, n, p);
}

}  // namespace quarkq::numeric::QQ_ISA
