// SPDX-License-Identifier: MIT
// Quantizes and dequantizes arrays: numeric/linear_quant.h chosen by element type. Integers of 8 to 32 bits.
#pragma once

#include <cstdint>

#include "exec/kernels/shared/support.h"
#include "numeric/linear_quant.h"

namespace quarkq::exec {

using numeric::ElementParams;
using numeric::LinearParams;
using numeric::Overflow;

// ---- arrays of one scale, and arrays with a scale for each element --------------------------------------------------

inline void quantize_array(const float* x, int8_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_i8)(x, y, n, p);
}
inline void quantize_array(const float* x, int16_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_i16)(x, y, n, p);
}
inline void quantize_array(const float* x, uint16_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_u16)(x, y, n, p);
}
inline void quantize_array(const float* x, uint8_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_u8)(x, y, n, p);
}
inline void quantize_array(const float* x, int32_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_i32)(x, y, n, p);
}
inline void quantize_array(const float* x, uint32_t* y, int64_t n, const LinearParams& p) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<uint32_t>(numeric::quantize(x[i], p));
}

template <typename Q>
void quantize_each(const float* x, Q* y, int64_t n, const ElementParams<Q>& p) {
  if constexpr (std::is_same_v<Q, int8_t>)
    QQ_DISPATCH(numeric, quantize_each_to_i8)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, uint8_t>)
    QQ_DISPATCH(numeric, quantize_each_to_u8)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, int16_t>)
    QQ_DISPATCH(numeric, quantize_each_to_i16)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, uint16_t>)
    QQ_DISPATCH(numeric, quantize_each_to_u16)(x, y, n, p);
  else
    for (int64_t i = 0; i < n; ++i) {
      y[i] = static_cast<Q>(numeric::quantize(x[i], {p.scale[i], p.zero_point[i], p.range, p.overflow}));
    }
}

template <typename Q>
void dequantize_array(const Q* x, float* y, int64_t n, const LinearParams& p) {
  const auto zero_point = static_cast<int32_t>(p.zero_point);
  if constexpr (std::is_same_v<Q, int8_t>)
    QQ_DISPATCH(numeric, dequantize_i8)(x, y, n, p.scale, zero_point);
  else if constexpr (std::is_same_v<Q, uint8_t>)
    QQ_DISPATCH(numeric, dequantize_u8)(x, y, n, p.scale, zero_point);
  else if constexpr (std::is_same_v<Q, int16_t>)
    QQ_DISPATCH(numeric, dequantize_i16)(x, y, n, p.scale, zero_point);
  else if constexpr (std::is_same_v<Q, uint16_t>)
    QQ_DISPATCH(numeric, dequantize_u16)(x, y, n, p.scale, zero_point);
  else if constexpr (std::is_same_v<Q, int32_t>)
    QQ_DISPATCH(numeric, dequantize_i32)(x, y, n, p.scale, zero_point);
  else
    for (int64_t i = 0; i < n; ++i) y[i] = numeric::dequantize(x[i], p);
}

template <typename Q>
void dequantize_each(const Q* x, float* y, int64_t n, const ElementParams<Q>& p) {
  if constexpr (std::is_same_v<Q, int8_t>)
    QQ_DISPATCH(numeric, dequantize_each_i8)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, uint8_t>)
    QQ_DISPATCH(numeric, dequantize_each_u8)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, int16_t>)
    QQ_DISPATCH(numeric, dequantize_each_i16)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, uint16_t>)
    QQ_DISPATCH(numeric, dequantize_each_u16)(x, y, n, p);
  else
    for (int64_t i = 0; i < n; ++i) y[i] = numeric::dequantize(x[i], {p.scale[i], p.zero_point[i], {}, p.overflow});
}

template <typename F>
bool visit_quantized(ElementType type, F&& f) {
  return visit_integer(type, [&](auto tag) {
    if constexpr (sizeof(typename decltype(tag)::type) <= 4) f(tag);
  });
}

}  // namespace quarkq::exec
