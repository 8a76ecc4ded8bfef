// SPDX-License-Identifier: MIT
#include "exec/kernels/elementwise/elementwise_loops.h"

#include <algorithm>
#include <cmath>

namespace quarkq::exec::QQ_ISA {
namespace {

template <typename F>
void row(const float* a, const float* b, float* y, const BinaryBlock& block, F f) {
  const int64_t n = block.columns;
  if (block.a_steps.column == 1 && block.b_steps.column == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
    return;
  }
  if (block.a_steps.column == 1) {
    const float right = *b;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], right);
    return;
  }
  const float left = *a;
  const int64_t step = block.b_steps.column;
  if (step == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = f(left, b[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) y[i] = f(left, *b);
}

template <typename F>
void rows(const BinaryBlock& block, F f) {
  for (int64_t r = 0; r < block.rows; ++r) {
    row(block.a + r * block.a_steps.row, block.b + r * block.b_steps.row, block.y + r * block.columns, block, f);
  }
}

/// The smaller; NaN when one is NaN.
float smaller(float a, float b) {
  const float y = a < b ? a : b;
  return a != a ? a : y;
}
float larger(float a, float b) {
  const float y = a > b ? a : b;
  return a != a ? a : y;
}

}  // namespace

void binary_loop(Binary op, const BinaryBlock& block) {
  switch (op) {
    case Binary::kAdd: return rows(block, [](float a, float b) { return a + b; });
    case Binary::kSub: return rows(block, [](float a, float b) { return a - b; });
    case Binary::kMul: return rows(block, [](float a, float b) { return a * b; });
    case Binary::kDiv: return rows(block, [](float a, float b) { return a / b; });
    case Binary::kMin: return rows(block, [](float a, float b) { return smaller(a, b); });
    case Binary::kMax: return rows(block, [](float a, float b) { return larger(a, b); });
    case Binary::kPRelu:
      return rows(block, [](float a, float b) {
        const float scaled = a * b;
        return a < 0.0f ? scaled : a;
      });
  }
}

void power_loop(float exponent, const float* x, float* y, int64_t n) {
  const auto loop = [=](auto f) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
  };
  if (exponent == 2.0f) return loop([](float v) { return v * v; });
  if (exponent == 3.0f) return loop([](float v) { return v * v * v; });
  if (exponent == -1.0f) return loop([](float v) { return 1.0f / v; });
  // pow() gives +infinity for -infinity, and no negative zero.
  if (exponent == 0.5f) return loop([](float v) { return v == -INFINITY ? INFINITY : std::sqrt(v) + 0.0f; });
  loop([](float v) { return v == -INFINITY ? 0.0f : 1.0f / (std::sqrt(v) + 0.0f); });
}

template <typename T>
void select_row(const uint8_t* condition, const T* a, const T* b, T* y, const SelectedRow& steps) {
  const int64_t n = steps.count;
  if (steps.condition == 0) {
    const T* const from = *condition != 0 ? a : b;
    const int64_t step = *condition != 0 ? steps.a : steps.b;
    step == 0 ? std::fill_n(y, n, *from) : std::copy_n(from, n, y);
    return;
  }
  const T left = *a, right = *b;
  if (steps.a == 0 && steps.b == 0) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = condition[i] != 0 ? left : right;
  } else if (steps.a == 0) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = condition[i] != 0 ? left : b[i];
  } else if (steps.b == 0) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = condition[i] != 0 ? a[i] : right;
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const T from_a = a[i], from_b = b[i];  // both are read, so that no branch is left
      y[i] = condition[i] != 0 ? from_a : from_b;
    }
  }
}

#define QQ_SELECT(T) template void select_row(const uint8_t*, const T*, const T*, T*, const SelectedRow&);
QQ_SELECT(uint8_t)
QQ_SELECT(uint16_t)
QQ_SELECT(uint32_t)
QQ_SELECT(uint64_t)

}  // namespace quarkq::exec::QQ_ISA
