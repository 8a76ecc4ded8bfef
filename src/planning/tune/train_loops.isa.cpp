// SPDX-License-Identifier: MIT
#include "planning/tune/train_loops.h"

namespace quarkq::planning::QQ_ISA {

double loss_gradient(const LossArrays& a, int64_t begin, int64_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) {
    const float off = a.quantized[i] - a.target[i];
    sum += static_cast<double>(off) * static_cast<double>(off);
    a.gradient[i] = a.result[i] >= a.low && a.result[i] <= a.high ? a.factor * off : 0.0f;
  }
  return sum;
}

double squared_distance(const float* a, const float* b, int64_t begin, int64_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) {
    const auto off = static_cast<double>(a[i] - b[i]);
    sum += off * off;
  }
  return sum;
}

void add_rows(const float* dy, const float* x, int64_t rows, int64_t channels, double* sums) {
  for (int64_t i = 0; i < rows * channels; i += channels) {
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c)
      sums[c] += static_cast<double>(dy[i + c]) * (x == nullptr ? 1.0 : static_cast<double>(x[i + c]));
  }
}

}  // namespace quarkq::planning::QQ_ISA
