// SPDX-License-Identifier: MIT
// Quantization of whole arrays with integer types. Scalar definitions and their vectorized versions with the same bits
// on every instruction set. Single-threaded; callers divide the work. Call the vectorized functions through
// QQ_DISPATCH(numeric, fake_quantize)(...).
#pragma once

#include <cstdint>

#include "base/isa.h"
#include "numeric/quant_params.h"

namespace quarkq::numeric {

// Quantize, dequantize and fake-quantize for integer types: the scalar code that defines the bits. Faster code is
// tested against it, bit for bit.

/// Treatment of values that no integer can represent.
enum class Overflow {
  kLowest,    ///< NaN, both infinities and quotients >= 2^63 become range.min: an x86 float -> int64 conversion
              ///< (ref:operators#quantize)
  kSaturate,  ///< NaN becomes range.min, +Inf range.max, -Inf range.min, as in ONNX Runtime's QuantizeLinear.
};

/// One scale and zero point, with the limits of the stored integers.
struct LinearParams {
  float scale = 1.0f;
  int64_t zero_point = 0;
  IntegerRange range;
  Overflow overflow = Overflow::kLowest;
};

/// Returns clamp(rne(f32(x / scale)) + zero_point, range.min, range.max).
int64_t quantize(float x, const LinearParams& params);
/// Returns f32(f32(q - zero_point) * scale); the difference is exact.
float dequantize(int64_t q, const LinearParams& params);
/// Returns dequantize(quantize(x)).
float fake_quantize(float x, const LinearParams& params);

/// One scale and zero point per element, for arrays whose last axis is the channel axis.
template <typename Q>
struct ElementParams {
  const float* scale = nullptr;
  const Q* zero_point = nullptr;
  IntegerRange range;
  Overflow overflow = Overflow::kLowest;
};

// `y` may be `x`. The zero point is within the type's range and has 32 bits like the limits.
QQ_DECLARE_ISA(
    /// Computes dequantize(quantize(x)) for each element.
    void fake_quantize(const float* x, float* y, int64_t n, const LinearParams& params);

    void quantize_to_i8(const float* x, int8_t* y, int64_t n, const LinearParams& params);
    void quantize_to_u8(const float* x, uint8_t* y, int64_t n, const LinearParams& params);
    void quantize_to_i16(const float* x, int16_t* y, int64_t n, const LinearParams& params);
    void quantize_to_u16(const float* x, uint16_t* y, int64_t n, const LinearParams& params);
    void quantize_to_i32(const float* x, int32_t* y, int64_t n, const LinearParams& params);

    void dequantize_i8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero_point);
    void dequantize_u8(const uint8_t* x, float* y, int64_t n, float scale, int32_t zero_point);
    void dequantize_i16(const int16_t* x, float* y, int64_t n, float scale, int32_t zero_point);
    void dequantize_u16(const uint16_t* x, float* y, int64_t n, float scale, int32_t zero_point);
    void dequantize_i32(const int32_t* x, float* y, int64_t n, float scale, int32_t zero_point);

    void quantize_each_to_i8(const float* x, int8_t* y, int64_t n, const ElementParams<int8_t>& params);
    void quantize_each_to_u8(const float* x, uint8_t* y, int64_t n, const ElementParams<uint8_t>& params);
    void quantize_each_to_i16(const float* x, int16_t* y, int64_t n, const ElementParams<int16_t>& params);
    void quantize_each_to_u16(const float* x, uint16_t* y, int64_t n, const ElementParams<uint16_t>& params);
    void dequantize_each_i8(const int8_t* x, float* y, int64_t n, const ElementParams<int8_t>& params);
    void dequantize_each_u8(const uint8_t* x, float* y, int64_t n, const ElementParams<uint8_t>& params);
    void dequantize_each_i16(const int16_t* x, float* y, int64_t n, const ElementParams<int16_t>& params);
    void dequantize_each_u16(const uint16_t* x, float* y, int64_t n, const ElementParams<uint16_t>& params);)

}  // namespace quarkq::numeric
