// SPDX-License-Identifier: MIT
#include "exec/kernels/reduce/reduce_loops.h"

#include <algorithm>
#include <cmath>

#include "exec/kernels/shared/lanes.h"
#include "exec/kernels/shared/simd_math.h"

namespace quarkq::exec::QQ_ISA {
namespace {

static_assert(kReduceColumns == simd::kColumnBlock);

template <typename F>
void fold_columns(const ColumnRows& x, double* totals, F f) {
  const int64_t columns = x.columns;
  float folded[kReduceColumns];
  for (int64_t c = 0; c < columns; ++c) folded[c] = x.data[c];
  for (int64_t r = 1; r < x.rows; ++r) {
    const float* row = x.data + r * x.stride;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) folded[c] = f(folded[c], row[c]);
  }
  for (int64_t c = 0; c < columns; ++c) totals[c] = static_cast<double>(folded[c]);
}

/// log(sum of exp(x)); the largest is taken out so that no exponential overflows.
double log_sum_exp(const float* x, int64_t n) {
  constexpr int64_t kBlock = simd::kLaneBlock;
  const float largest = simd::lane_fold(x, n, simd::Larger());
  if (!std::isfinite(largest)) return static_cast<double>(largest);
  double sum = 0;
  float block[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) block[i] = simd::exp(x[begin + i] - largest);
    sum += simd::lane_sum(block, count, [](simd::Vector v) { return v; });
  }
  return static_cast<double>(largest) + std::log(sum);
}

void log_sum_exp_columns(const ColumnRows& x, double* totals) {
  const int64_t columns = x.columns;
  float largest[kReduceColumns];
  fold_columns(x, totals, simd::Larger());
  for (int64_t c = 0; c < columns; ++c) largest[c] = static_cast<float>(totals[c]);
  simd::column_sums(x, totals, [&largest](float v, int64_t c) { return simd::exp(v - largest[c]); });
  for (int64_t c = 0; c < columns; ++c) {
    const auto out = static_cast<double>(largest[c]);
    totals[c] = std::isfinite(largest[c]) ? out + std::log(totals[c]) : out;
  }
}

/// First or last index whose element `is` finds. REQUIRES: there is one.
template <typename Test>
int64_t find_element(const float* x, int64_t n, bool last, Test is) {
  static constexpr int64_t kBlock = 4 * simd::kLanes;
  const auto holds = [x, is](int64_t begin) {
    int found = 0;
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < kBlock; ++i) found |= is(x[begin + i]) ? 1 : 0;
    return found != 0;
  };
  if (!last) {
    int64_t i = 0;
    while (i + kBlock <= n && !holds(i)) i += kBlock;
    while (!is(x[i])) ++i;
    return i;
  }
  int64_t end = n;
  while (end >= kBlock && !holds(end - kBlock)) end -= kBlock;
  while (!is(x[end - 1])) --end;
  return end - 1;
}

template <typename Better>
void best_of_columns(const ColumnRows& x, int64_t* places, Better better) {
  const int64_t columns = x.columns;
  float best[kReduceColumns];
  int32_t place[kReduceColumns] = {};
  std::copy_n(x.data, columns, best);
  for (int64_t r = 1; r < x.rows; ++r) {
    const float* row = x.data + r * x.stride;
    const auto number = static_cast<int32_t>(r);
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) {
      const float value = row[c], old = best[c];
      const bool takes = better(value, old) || (value != value && old == old);
      place[c] = takes ? number : place[c];
      best[c] = takes ? value : old;
    }
  }
  std::copy_n(place, columns, places);
}

}  // namespace

int64_t extreme_of_row(Extreme extreme, const float* x, int64_t n) {
  const float best = extreme.largest ? simd::lane_fold(x, n, simd::Larger()) : simd::lane_fold(x, n, simd::Smaller());
  if (best != best) return find_element(x, n, /*last=*/false, [](float v) { return v != v; });
  return find_element(x, n, extreme.last, [best](float v) { return v == best; });
}

void extreme_of_columns(Extreme extreme, const ColumnRows& x, int64_t* places) {
  const auto run = [&](auto better) { best_of_columns(x, places, better); };
  if (extreme.largest && extreme.last) return run([](float v, float old) { return v >= old; });
  if (extreme.largest) return run([](float v, float old) { return v > old; });
  if (extreme.last) return run([](float v, float old) { return v <= old; });
  run([](float v, float old) { return v < old; });
}

double reduce_row(Reduce op, const float* x, int64_t n) {
  switch (op) {
    case Reduce::kMax: return static_cast<double>(simd::lane_fold(x, n, simd::Larger()));
    case Reduce::kMin: return static_cast<double>(simd::lane_fold(x, n, simd::Smaller()));
    case Reduce::kLogSumExp: return log_sum_exp(x, n);
    case Reduce::kL1: return simd::lane_sum(x, n, [](simd::Vector v) { return v < 0.0f ? -v : v; });
    case Reduce::kL2:
    case Reduce::kSumSquare: return simd::lane_sum(x, n, [](simd::Vector v) { return v * v; });
    default: return simd::lane_sum(x, n, [](simd::Vector v) { return v; });
  }
}

void reduce_columns(Reduce op, const ColumnRows& x, double* totals) {
  switch (op) {
    case Reduce::kMax: return fold_columns(x, totals, simd::Larger());
    case Reduce::kMin: return fold_columns(x, totals, simd::Smaller());
    case Reduce::kLogSumExp: return log_sum_exp_columns(x, totals);
    case Reduce::kL1: return simd::column_sums(x, totals, [](float v, int64_t) { return std::fabs(v); });
    case Reduce::kL2:
    case Reduce::kSumSquare: return simd::column_sums(x, totals, [](float v, int64_t) { return v * v; });
    default: return simd::column_sums(x, totals, [](float v, int64_t) { return v; });
  }
}

}  // namespace quarkq::exec::QQ_ISA
