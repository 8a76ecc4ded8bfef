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
#elif defined(__AVX2__)
using Vector = __m256;
constexpr int64_t kVectorFloats = 8;
inline Vector load(const float* x) { return _mm256_loadu_ps(x); }
inline void store(float* x, Vector v) { _mm256_storeu_ps(x, v); }
inline Vector broadcast(float x) { return _mm256_set1_ps(x); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
#else
using Vector = __m128;
constexpr int64_t kVectorFloats = 4;
inline Vector load(const float* x) { return _mm_loadu_ps(x); }
inline void store(float* x, Vector v) { _mm_storeu_ps(x, v); }
inline Vector broadcast(float x) { return _mm_set1_ps(x); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
#endif

}  // namespace
}  // namespace quarkq::exec::simd
