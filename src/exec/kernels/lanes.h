// SPDX-License-Identifier: MIT
// Reductions over contiguous floats and over the columns of a matrix, in an order that depends on nothing but the
// sizes: sixteen lanes or one per column, added up in float over short blocks and in double over the blocks. Only
// *.isa.cpp files include this.
#pragma once

#include <algorithm>
#include <cstdint>

namespace quarkq::exec::simd {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kLaneBlock = 2048;  ///< elements summed in float
constexpr int64_t kColumnBlock = 64;  ///< columns kept in registers or first-level cache
constexpr int64_t kRowBlock = 128;    ///< rows summed in float

/// Sum of f(x[i]) over i < n.
template <typename F>
double lane_sum(const float* x, int64_t n, F f) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kLaneBlock) {
    const int64_t end = std::min(n, begin + kLaneBlock);
    float lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
#pragma omp simd
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += f(x[i + l]);
    }
    for (int64_t l = 0; i + l < end; ++l) lanes[l] += f(x[i + l]);
    for (int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (int64_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
    }
    total += static_cast<double>(lanes[0]);
  }
  return total;
}

/// Joins all x[i] by f, which is associative and commutative up to rounding. REQUIRES: n > 0.
template <typename F>
float lane_fold(const float* x, int64_t n, F f) {
  float lanes[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lanes[l] = x[std::min(l, n - 1)];
  int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] = f(lanes[l], x[i + l]);
  }
  for (int64_t l = 0; i + l < n; ++l) lanes[l] = f(lanes[l], x[i + l]);
  const int64_t used = std::min(n, kLanes);
  float result = lanes[0];
  for (int64_t l = 1; l < used; ++l) result = f(result, lanes[l]);
  return result;
}

/// totals[c] = sum over rows of f(x[r * stride + c], c) for c < columns <= kColumnBlock.
template <typename F>
void column_sums(const float* x, int64_t rows, int64_t stride, int64_t columns, double* totals, F f) {
  for (int64_t c = 0; c < columns; ++c) totals[c] = 0;
  for (int64_t begin = 0; begin < rows; begin += kRowBlock) {
    const int64_t end = std::min(rows, begin + kRowBlock);
    float sums[kColumnBlock] = {};
    for (int64_t r = begin; r < end; ++r) {
      const float* row = x + r * stride;
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) sums[c] += f(row[c], c);
    }
    for (int64_t c = 0; c < columns; ++c) totals[c] += static_cast<double>(sums[c]);
  }
}

/// The larger; NaN when one is NaN.
inline float larger(float a, float b) {
  const float y = a > b ? a : b;
  return a != a ? a : y;
}
inline float smaller(float a, float b) {
  const float y = a < b ? a : b;
  return a != a ? a : y;
}

}  // namespace
}  // namespace quarkq::exec::simd
