// SPDX-License-Identifier: MIT
// Vectorized loops of integer products. All operands are 16 bits wide with zero points already subtracted, so that two
// products and their sum are one instruction.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

constexpr int64_t kProductRows = 4;  ///< most rows of one integer_products() call

/// Requantization of a sum of products to a stored integer: y = clamp(rne(float(sum) * scale) + zero_point).
struct Requantization {
  const float* scale = nullptr;  ///< one for each column
  int32_t zero_point = 0;
};

/// [rows, depth] times the transposed of [columns, depth].
struct IntegerProduct {
  int64_t rows = 0, depth = 0, columns = 0;
};

QQ_DECLARE_ISA(
    /// sums[r * columns + c] = sum over k < depth of x[r * depth + k] * w[c * depth + k], wrapping at 32 bits. Elements
    /// are in [-255, 255]; rows <= kProductRows.
    void integer_products(const int16_t* x, const int16_t* w, const IntegerProduct& product, int32_t* sums);

    void widen_i8(const int8_t* x, int16_t* y, int64_t n, int32_t zero_point);
    void widen_u8(const uint8_t* x, int16_t* y, int64_t n, int32_t zero_point);

    void requantize_to_i8(const int32_t* sums, int8_t* y, int64_t n, const Requantization& r);
    void requantize_to_u8(const int32_t* sums, uint8_t* y, int64_t n, const Requantization& r);)

}  // namespace quarkq::exec
