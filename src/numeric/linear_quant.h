// SPDX-License-Identifier: MIT
// Fast twins of numeric/reference.h for whole arrays: the same bits, tested on every instruction set. Single-threaded;
// callers split the work. Call through QQ_DISPATCH(numeric, fake_quantize)(...).
#pragma once

#include <cstdint>

#include "base/isa.h"
#include "numeric/reference.h"

namespace quarkq::numeric {

/// One scale and zero point per element: the last axis of an array that has its channels there.
template <typename Q>
struct ElementParams {
  const float* scale = nullptr;
  const Q* zero_point = nullptr;
  IntegerRange range;
  Overflow overflow = Overflow::kLowest;
};

// y may be x. The zero point is inside the type's range, and of 32 bits as its limits are.
QQ_DECLARE_ISA(
    /// dequantize(quantize(x)).
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
