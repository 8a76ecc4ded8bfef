// SPDX-License-Identifier: MIT
#include "exec/kernels/norm/norm_loops.h"

#include "exec/kernels/shared/lanes.h"
#include "exec/kernels/shared/simd_math.h"

namespace quarkq::exec::QQ_ISA {
namespace {

static_assert(kNormColumns == simd::kColumnBlock);

Moments make_moments(double mean, double square_sum, int64_t n, float epsilon) {
  const double variance = square_sum / static_cast<double>(n);
  return {static_cast<float>(mean), static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(epsilon)))};
}

/// y = exp(x - largest), always by whole vectors: row lengths are rarely even.
void exp_below(const float* x, float* y, int64_t n, float largest) {
  static constexpr int64_t kBlock = simd::kVectorFloats;
  const auto block = [largest](const float* from, float* to) {
#pragma omp simd
    for (int64_t l = 0; l < kBlock; ++l) to[l] = simd::exp(from[l] - largest);
  };
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) block(x + i, y + i);
  if (i == n) return;
  float rest[kBlock];
  simd::store(rest, simd::load_first(x + i, n - i));
  block(rest, rest);
  simd::store_first(y + i, simd::load(rest), n - i);
}

}  // namespace

void affine_row(const float* x, float* y, int64_t n, float a, float b) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * a + b;
}

void affine_columns(const ColumnRows& x, float* y, const float* a, const float* b) {
  const float* from = x.data;
  const int64_t columns = x.columns;
  for (int64_t r = 0; r < x.rows; ++r, from += x.stride, y += x.stride) {
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) y[c] = from[c] * a[c] + b[c];
  }
}

Moments row_moments(const float* x, int64_t n, float epsilon) {
  const double mean = simd::lane_sum(x, n, [](simd::Vector v) { return v; }) / static_cast<double>(n);
  const auto center = static_cast<float>(mean);
  const double squares = simd::lane_sum(x, n, [center](simd::Vector v) { return (v - center) * (v - center); });
  return make_moments(mean, squares, n, epsilon);
}

void column_moments(const ColumnRows& x, float epsilon, Moments* moments) {
  const int64_t rows = x.rows, columns = x.columns;
  double sums[kNormColumns], squares[kNormColumns];
  float centers[kNormColumns];
  simd::column_sums(x, sums, [](float v, int64_t) { return v; });
  for (int64_t c = 0; c < columns; ++c) centers[c] = static_cast<float>(sums[c] / static_cast<double>(rows));
  simd::column_sums(x, squares, [&centers](float v, int64_t c) { return (v - centers[c]) * (v - centers[c]); });
  for (int64_t c = 0; c < columns; ++c) {
    moments[c] = make_moments(sums[c] / static_cast<double>(rows), squares[c], rows, epsilon);
  }
}

Moments layer_norm_row(const float* x, float* y, int64_t n, const RowNorm& norm) {
  const Moments m = row_moments(x, n, norm.epsilon);
  const float* scale = norm.scale;
  const float* bias = norm.bias;
  if (bias == nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m.mean) * m.inverse * scale[i];
    return m;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m.mean) * m.inverse * scale[i] + bias[i];
  return m;
}

float rms_norm_row(const float* x, float* y, int64_t n, const RowNorm& norm) {
  const double squares = simd::lane_sum(x, n, [](simd::Vector v) { return v * v; });
  const auto inverse =
      static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(norm.epsilon)));
  const float* scale = norm.scale;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * inverse * scale[i];
  return inverse;
}

void column_totals(const ColumnRows& x, const float* centers, double* sums) {
  if (centers == nullptr) return simd::column_sums(x, sums, [](float v, int64_t) { return v; });
  simd::column_sums(x, sums, [centers](float v, int64_t c) { return (v - centers[c]) * (v - centers[c]); });
}

void local_response_loop(const LocalResponse& lrn, const float* x, float* y, int64_t n) {
  const float factor = lrn.alpha / static_cast<float>(lrn.size), bias = lrn.bias, beta = lrn.beta;
  if (beta == 0.75f) {  // as good as always
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float root = std::sqrt(bias + factor * y[i]);
      y[i] = x[i] / (root * std::sqrt(root));
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / std::pow(bias + factor * y[i], beta);
}

void softmax_row(const float* x, float* y, int64_t n, bool log) {
  const float largest = simd::lane_fold(x, n, simd::Larger());
  exp_below(x, y, n, largest);
  const double sum = simd::lane_sum(y, n, [](simd::Vector v) { return v; });
  if (log) {
    const auto shift = static_cast<float>(std::log(sum));
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - largest) - shift;
    return;
  }
  const auto factor = static_cast<float>(1.0 / sum);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] * factor;
}

void softmax_columns(const ColumnRows& x, float* y, bool log) {
  const float* data = x.data;
  const int64_t rows = x.rows, stride = x.stride, columns = x.columns;
  float largest[kNormColumns], shift[kNormColumns];
  double sums[kNormColumns];
  for (int64_t c = 0; c < columns; ++c) largest[c] = data[c];
  for (int64_t r = 1; r < rows; ++r) {
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) largest[c] = simd::larger(largest[c], data[r * stride + c]);
  }
  simd::column_sums(x, sums, [&largest](float v, int64_t c) { return simd::exp(v - largest[c]); });
  for (int64_t c = 0; c < columns; ++c) shift[c] = static_cast<float>(log ? std::log(sums[c]) : sums[c]);
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = data + r * stride;
    float* to = y + r * stride;
    if (log) {
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) to[c] = (from[c] - largest[c]) - shift[c];
      continue;
    }
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) to[c] = simd::exp(from[c] - largest[c]) / shift[c];
  }
}

}  // namespace quarkq::exec::QQ_ISA
