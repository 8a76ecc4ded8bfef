// SPDX-License-Identifier: MIT
#include "exec/kernels/shared/float_rows.h"

#include "numeric/element_type.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace quarkq::exec::QQ_ISA {

void floats_from_float16(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
#ifdef __F16C__  // no compiler makes these from the scalar definition
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
#endif
  for (; i < n; ++i) y[i] = float_from_float16(x[i]);
}

void float16_from_floats(const float* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), half);
  }
#endif
  for (; i < n; ++i) y[i] = float16_from_float(x[i]);
}

void floats_from_bfloat16(const uint16_t* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = float_from_bfloat16(x[i]);
}

void bfloat16_from_floats(const float* x, uint16_t* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<uint32_t>(x[i]);
    const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    y[i] = static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? (bits >> 16) | 0x40 : rounded);
  }
}

}  // namespace quarkq::exec::QQ_ISA
