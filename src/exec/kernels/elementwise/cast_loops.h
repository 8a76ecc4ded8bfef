// SPDX-License-Identifier: MIT
// Vectorized conversion of float32 to integers: truncated, clamped, NaN becomes 0.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {
QQ_DECLARE_ISA(
    /// T: int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t.
    template <typename T> void integers_from_floats(const float* x, T* y, int64_t n);)
}  // namespace quarkq::exec
