// SPDX-License-Identifier: MIT
#include "exec/kernels/elementwise/unary_loops.h"

#include <limits>
#include <type_traits>

namespace quarkq::exec::QQ_ISA {

template <typename T>
void integers_from_floats(const float* x, T* y, int64_t n) {
  using Limits = std::numeric_limits<T>;
  using Wide = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  constexpr auto kLow = static_cast<float>(Limits::lowest());
  // 2^n for types of 32 and 64 bits, whose largest value is no float.
  constexpr auto kHigh = static_cast<float>(Limits::max());
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float value = x[i];
    const bool inside = value > kLow && value < kHigh;  // false for NaN
    const auto truncated = static_cast<T>(static_cast<Wide>(inside ? value : 0.0f));
    const T clamped = value >= kHigh ? Limits::max() : truncated;
    y[i] = value <= kLow ? Limits::lowest() : clamped;
  }
}

#define QQ_INTEGERS(T) template void integers_from_floats(const float*, T*, int64_t);
QQ_INTEGERS(int8_t)
QQ_INTEGERS(uint8_t)
QQ_INTEGERS(int16_t)
QQ_INTEGERS(uint16_t)
QQ_INTEGERS(int32_t)
QQ_INTEGERS(int64_t)

}  // namespace quarkq::exec::QQ_ISA
