// SPDX-License-Identifier: MIT
// Vectorized float32 loops of normalizations.
#pragma once

#include <cstdint>

#include "base/isa.h"
#include "exec/kernels/shared/float_rows.h"

namespace quarkq::exec {

constexpr int64_t kNormColumns = 64;  ///< Upper bound on the columns of one *_columns() call, if the function mentions
                                      ///< it.

/// Parameters for a row of layer normalization.
struct RowNorm {
  const float* scale = nullptr;
  const float* bias = nullptr;  ///< may be null
  float epsilon = 0;
};

/// Mean and 1 / sqrt(variance + epsilon).
struct Moments {
  float mean = 0, inverse = 1;
};

/// y = x / (bias + alpha / size * sum of squares over `size` channels around)^beta
struct LocalResponse {
  int64_t size = 1;
  float alpha = 0, beta = 0, bias = 0;
};

QQ_DECLARE_ISA(
    /// y = x * a + b.
    void affine_row(const float* x, float* y, int64_t n, float a, float b);
    /// y[r, c] = x[r, c] * a[c] + b[c]; y has the row stride of x.
    void affine_columns(const ColumnRows& x, float* y, const float* a, const float* b);
    /// Biased variance of x[0..n).
    Moments row_moments(const float* x, int64_t n, float epsilon);
    /// Computes row_moments() for each of at most kNormColumns columns.
    void column_moments(const ColumnRows& x, float epsilon, Moments* moments);
    /// y = (x - mean) * inverse * scale + bias.
    Moments layer_norm_row(const float* x, float* y, int64_t n, const RowNorm& norm);
    /// y = x / sqrt(mean of x^2 + epsilon) * scale, without a bias. Returns 1 / sqrt(...).
    float rms_norm_row(const float* x, float* y, int64_t n, const RowNorm& norm);
    /// sums[c] = sum over rows of x[r, c], or of (x[r, c] - centers[c])^2 when there are centers, for at most
    /// kNormColumns columns.
    void column_totals(const ColumnRows& x, const float* centers, double* sums);
    /// Local response normalization of x. y contains the sums of squares before and the results after.
    void local_response_loop(const LocalResponse& lrn, const float* x, float* y, int64_t n);
    /// Softmax of x[0..n), or its logarithm. y is not x.
    void softmax_row(const float* x, float* y, int64_t n, bool log);
    /// Computes softmax_row() along each of at most kNormColumns columns; y has the row stride of x.
    void softmax_columns(const ColumnRows& x, float* y, bool log);)

}  // namespace quarkq::exec
