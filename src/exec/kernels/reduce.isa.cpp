// SPDX-License-Identifier: MIT
#include "exec/kernels/reduce_loops.h"

#include <cmath>

#include "exec/kernels/lanes.h"

namespace quarkq::exec::QQ_ISA {
namespace {

static_assert(kReduceColumns == simd::kColumnBlock);

template <typename F>
void fold_columns(const float* x, int64_t rows, int64_t stride, int64_t columns, double* totals, F f) {
  float folded[kReduceColumns];
  for (int64_t c = 0; c < columns; ++c) folded[c] = x[c];
  for (int64_t r = 1; r < rows; ++r) {
    const float* row = x + r * stride;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) folded[c] = f(folded[c], row[c]);
  }
  for (int64_t c = 0; c < columns; ++c) totals[c] = static_cast<double>(folded[c]);
}

}  // namespace

double reduce_row(Reduce op, const float* x, int64_t n) {
  switch (op) {
    case Reduce::kMax: return static_cast<double>(simd::lane_fold(x, n, simd::Larger()));
    case Reduce::kMin: return static_cast<double>(simd::lane_fold(x, n, simd::Smaller()));
    case Reduce::kL1: return simd::lane_sum(x, n, [](simd::Vector v) { return v < 0.0f ? -v : v; });
    case Reduce::kL2:
    case Reduce::kSumSquare: return simd::lane_sum(x, n, [](simd::Vector v) { return v * v; });
    default: return simd::lane_sum(x, n, [](simd::Vector v) { return v; });
  }
}

void reduce_columns(Reduce op, const float* x, int64_t rows, int64_t stride, int64_t columns, double* totals) {
  switch (op) {
    case Reduce::kMax: return fold_columns(x, rows, stride, columns, totals, simd::Larger());
    case Reduce::kMin: return fold_columns(x, rows, stride, columns, totals, simd::Smaller());
    case Reduce::kL1:
      return simd::column_sums(x, rows, stride, columns, totals, [](float v, int64_t) { return std::fabs(v); });
    case Reduce::kL2:
    case Reduce::kSumSquare:
      return simd::column_sums(x, rows, stride, columns, totals, [](float v, int64_t) { return v * v; });
    default: return simd::column_sums(x, rows, stride, columns, totals, [](float v, int64_t) { return v; });
  }
}

}  // namespace quarkq::exec::QQ_ISA
