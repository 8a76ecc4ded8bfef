// SPDX-License-Identifier: MIT
// Quantize, dequantize and fake-quantize for integer types: the slow scalar code that defines the bits. Everything
// faster (numeric/linear_quant.h) is tested against it, bit for bit.
#pragma once

#include <cstdint>

#include "numeric/quant_spec.h"

namespace quarkq::numeric {

/// What becomes of values that no integer can hold.
enum class Overflow {
  kLowest,    ///< NaN, both infinities and quotients >= 2^63 become range.min: an x86 float -> int64 conversion
              ///< (ref:operators#quantize)
  kSaturate,  ///< NaN becomes range.min, +Inf range.max, -Inf range.min: what ONNX Runtime's QuantizeLinear does
};

/// One scale and zero point, with the limits of what is stored.
struct LinearParams {
  float scale = 1.0f;
  int64_t zero_point = 0;
  IntegerRange range;
  Overflow overflow = Overflow::kLowest;
};

/// q = clamp(rne(f32(x / scale)) + zero_point, range.min, range.max)
int64_t quantize(float x, const LinearParams& params);
/// y = f32(f32(q - zero_point) * scale); the difference is exact.
float dequantize(int64_t q, const LinearParams& params);
/// dequantize(quantize(x))
float fake_quantize(float x, const LinearParams& params);

}  // namespace quarkq::numeric
