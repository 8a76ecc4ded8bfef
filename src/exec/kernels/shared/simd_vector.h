// SPDX-License-Identifier: MIT
// The widest float vector of an instruction set, for the few loops whose accumulators a compiler does not keep in
// registers. Only *.isa.cpp files include this.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace quarkq::exec::simd {
namespace {

#if defined(__AVX512F__)
using Vector = __m512;
constexpr int64_t kVectorFloats = 16;
inline Vector load(const float* x) { return _mm512_loadu_ps(x); }
inline void store(float* x, Vector v) { _mm512_storeu_ps(x, v); }
inline Vector broadcast(float x) { return _mm512_set1_ps(x); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
/// The first n elements, 0 <= n <= kVectorFloats; zeros after them.
inline Vector load_first(const float* x, int64_t n) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((uint32_t{1} << n) - 1), x);
}
inline Vector keep_first(Vector v, int64_t n) {
  return _mm512_maskz_mov_ps(static_cast<__mmask16>((uint32_t{1} << n) - 1), v);
}
inline void store_first(float* x, Vector v, int64_t n) {
  _mm512_mask_storeu_ps(x, static_cast<__mmask16>((uint32_t{1} << n) - 1), v);
}
#elif defined(__AVX2__)
using Vector = __m256;
constexpr int64_t kVectorFloats = 8;
inline Vector load(const float* x) { return _mm256_loadu_ps(x); }
inline void store(float* x, Vector v) { _mm256_storeu_ps(x, v); }
inline Vector broadcast(float x) { return _mm256_set1_ps(x); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
inline __m256i first_mask(int64_t n) {
  const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), places);
}
inline Vector load_first(const float* x, int64_t n) { return _mm256_maskload_ps(x, first_mask(n)); }
inline Vector keep_first(Vector v, int64_t n) { return _mm256_and_ps(v, _mm256_castsi256_ps(first_mask(n))); }
inline void store_first(float* x, Vector v, int64_t n) { _mm256_maskstore_ps(x, first_mask(n), v); }
#else
using Vector = __m128;
constexpr int64_t kVectorFloats = 4;
inline Vector load(const float* x) { return _mm_loadu_ps(x); }
inline void store(float* x, Vector v) { _mm_storeu_ps(x, v); }
inline Vector broadcast(float x) { return _mm_set1_ps(x); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
inline Vector keep_first(Vector v, int64_t n) {
  const __m128i mask = _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(n)), _mm_setr_epi32(0, 1, 2, 3));
  return _mm_and_ps(v, _mm_castsi128_ps(mask));
}
inline Vector load_first(const float* x, int64_t n) {
  return _mm_setr_ps(n > 0 ? x[0] : 0.0f, n > 1 ? x[1] : 0.0f, n > 2 ? x[2] : 0.0f, n > 3 ? x[3] : 0.0f);
}
inline void store_first(float* x, Vector v, int64_t n) {
  float values[kVectorFloats];
  store(values, v);
  for (int64_t i = 0; i < n; ++i) x[i] = values[i];
}
#endif

/// The larger, or the smaller, element by element; NaN when one is NaN.
#define QQ_EXTREME(name, instruction)                                             \
  inline __m128 name(__m128 a, __m128 b) {                                        \
    return _mm_blendv_ps(_mm_##instruction##_ps(a, b), a, _mm_cmpunord_ps(a, a)); \
  }                                                                               \
  QQ_EXTREME_WIDE(name, instruction)
#if defined(__AVX512F__)
#define QQ_EXTREME_WIDE(name, instruction)                                                \
  inline __m256 name(__m256 a, __m256 b) {                                                \
    return _mm256_mask_##instruction##_ps(a, _mm256_cmp_ps_mask(a, a, _CMP_ORD_Q), a, b); \
  }                                                                                       \
  inline __m512 name(__m512 a, __m512 b) {                                                \
    return _mm512_mask_##instruction##_ps(a, _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a, b); \
  }
#elif defined(__AVX2__)
#define QQ_EXTREME_WIDE(name, instruction)                                                          \
  inline __m256 name(__m256 a, __m256 b) {                                                          \
    return _mm256_blendv_ps(_mm256_##instruction##_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q)); \
  }
#else
#define QQ_EXTREME_WIDE(name, instruction)
#endif
QQ_EXTREME(larger, max)
QQ_EXTREME(smaller, min)
#undef QQ_EXTREME
#undef QQ_EXTREME_WIDE

/// Joins the elements pairwise, halves first. `f` takes and gives vectors of any width.
template <typename F>
inline float join(Vector v, F f) {
#if defined(__AVX512F__)
  // Not the intrinsics: GCC 12 warns about a variable inside of them.
  const __m256 half = f(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                        __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
  const __m128 quarter = f(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
#elif defined(__AVX2__)
  const __m128 quarter = f(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
#else
  const __m128 quarter = v;
#endif
  const __m128 pair = f(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(f(pair, _mm_shuffle_ps(pair, pair, 1)));
}

}  // namespace
}  // namespace quarkq::exec::simd
