// SPDX-License-Identifier: MIT
// Reductions over contiguous floats and over the columns of a matrix, in an order that depends on nothing but the
// sizes: sixteen lanes or one per column, added up in float over short blocks and in double over the blocks. Only
// *.isa.cpp files include this.
#pragma once

#include <algorithm>
#include <cstdint>

#include "exec/kernels/shared/float_rows.h"
#include "exec/kernels/shared/simd_vector.h"

namespace quarkq::exec::simd {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kLaneBlock = 2048;  ///< elements summed in float
constexpr int64_t kColumnBlock = 64;  ///< columns kept in registers or first-level cache
constexpr int64_t kRowBlock = 128;    ///< rows summed in float

constexpr int64_t kParts = kLanes / kVectorFloats;  ///< Number of vectors for all lanes.

/// Sum of f(x[i]) over i < n. `f` takes and gives vectors.
template <typename F>
double lane_sum(const float* x, int64_t n, F f) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kLaneBlock) {
    const int64_t end = std::min(n, begin + kLaneBlock);
    Vector sums[kParts] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t p = 0; p < kParts; ++p) sums[p] += f(load(x + i + p * kVectorFloats));
    }
    for (int64_t p = 0; i < end; ++p, i += kVectorFloats) {
      const int64_t left = std::min(kVectorFloats, end - i);
      sums[p] += keep_first(f(load_first(x + i, left)), left);
    }
    for (int64_t width = kParts / 2; width > 0; width /= 2) {
      for (int64_t p = 0; p < width; ++p) sums[p] += sums[p + width];
    }
    total += static_cast<double>(join(sums[0], [](auto a, auto b) { return a + b; }));
  }
  return total;
}

/// Joins all x[i] by f, which is associative and commutative and joins a value with itself to that value. `f` takes and
/// gives floats or vectors. REQUIRES: n > 0.
template <typename F>
float lane_fold(const float* x, int64_t n, F f) {
  if (n < kVectorFloats) {
    float folded = x[0];
    for (int64_t i = 1; i < n; ++i) folded = f(folded, x[i]);
    return folded;
  }
  Vector folded[4];  // several chains at once: f takes longer than loading what it takes
  for (Vector& lanes : folded) lanes = load(x);
  int64_t i = kVectorFloats;
  for (; i + 4 * kVectorFloats <= n; i += 4 * kVectorFloats) {
    for (int64_t k = 0; k < 4; ++k) folded[k] = f(folded[k], load(x + i + k * kVectorFloats));
  }
  for (; i + kVectorFloats <= n; i += kVectorFloats) folded[0] = f(folded[0], load(x + i));
  folded[1] = f(folded[1], load(x + n - kVectorFloats));
  return join(f(f(folded[0], folded[1]), f(folded[2], folded[3])), f);
}

/// totals[c] = sum over rows of f(x(r, c), c) for c < columns <= kColumnBlock.
template <typename F>
void column_sums(const ColumnRows& x, double* totals, F f) {
  const int64_t rows = x.rows, columns = x.columns;
  for (int64_t c = 0; c < columns; ++c) totals[c] = 0;
  for (int64_t begin = 0; begin < rows; begin += kRowBlock) {
    const int64_t end = std::min(rows, begin + kRowBlock);
    float sums[kColumnBlock] = {};
    for (int64_t r = begin; r < end; ++r) {
      const float* row = x.data + r * x.stride;
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) sums[c] += f(row[c], c);
    }
    for (int64_t c = 0; c < columns; ++c) totals[c] += static_cast<double>(sums[c]);
  }
}

inline float larger(float a, float b) {
  const float y = a > b ? a : b;
  return a != a ? a : y;
}
inline float smaller(float a, float b) {
  const float y = a < b ? a : b;
  return a != a ? a : y;
}

/// For floats and for vectors.
struct Larger {
  template <typename T>
  T operator()(T a, T b) const {
    return larger(a, b);
  }
};
struct Smaller {
  template <typename T>
  T operator()(T a, T b) const {
    return smaller(a, b);
  }
};

}  // namespace
}  // namespace quarkq::exec::simd
