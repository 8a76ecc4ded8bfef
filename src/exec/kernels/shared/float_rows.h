// SPDX-License-Identifier: MIT
// Input of the loops over columns: adjacent columns, whose rows have a stride.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {

/// Element (r, c) is data[r * stride + c].
struct ColumnRows {
  const float* data = nullptr;
  int64_t rows = 0, stride = 0, columns = 0;
};

// Vectorized conversion of 16-bit floats to float32 and back, round to nearest even: bit for bit
// numeric/element_type.h, except that a signaling NaN may come out quiet.

QQ_DECLARE_ISA(void floats_from_float16(const uint16_t* x, float* y, int64_t n);
               void float16_from_floats(const float* x, uint16_t* y, int64_t n);
               void floats_from_bfloat16(const uint16_t* x, float* y, int64_t n);
               void bfloat16_from_floats(const float* x, uint16_t* y, int64_t n);)

}  // namespace quarkq::exec
