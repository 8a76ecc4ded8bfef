// SPDX-License-Identifier: MIT
#include "metrics/ssim_loops.h"

#include <algorithm>

namespace quarkq::metrics::QQ_ISA {
namespace {

constexpr int64_t kLanes = 8;

void blur_row(const double* in, int64_t width, const double* weights, double* out) {
  const double w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3], w4 = weights[4], w5 = weights[5];
  const double* middle = in + kWindowRadius;
#pragma omp simd
  for (int64_t x = 0; x < width; ++x) {
    const double* p = middle + x;
    out[x] = w0 * p[0] + w1 * (p[-1] + p[1]) + w2 * (p[-2] + p[2]) + w3 * (p[-3] + p[3]) + w4 * (p[-4] + p[4]) +
             w5 * (p[-5] + p[5]);
  }
}

/// (2 ma mb + C1)(2 cov + C2) / ((ma^2 + mb^2 + C1)(var_a + var_b + C2) + guard). Rounding must leave neither variance
/// below 0 nor |2 cov| above their sum, else the similarity could pass 1.
double similarity(const double* moments, int64_t width, int64_t x, const SimilarityTerms& terms) {
  const double ma = moments[x], mb = moments[width + x];
  const double aa = moments[2 * width + x], bb = moments[3 * width + x], ab = moments[4 * width + x];
  double variances = aa + bb, covariance = 2 * ab;
  if (terms.is_central) {
    variances = std::max(aa - ma * ma, 0.0) + std::max(bb - mb * mb, 0.0);
    covariance = std::clamp(2 * (ab - ma * mb), -variances, variances);
  }
  const double mean_a = ma + terms.offset_a, mean_b = mb + terms.offset_b;
  return (2 * (mean_a * mean_b) + terms.c1) * (covariance + terms.c2) /
         ((mean_a * mean_a + mean_b * mean_b + terms.c1) * (variances + terms.c2) + terms.guard);
}

}  // namespace

void blur_across(const RowPair& row, const double* weights, double* products, double* out) {
  const double *a = row.a, *b = row.b;
  const int64_t width = row.width;
  const int64_t padded = width + 2 * kWindowRadius;
  double *aa = products, *bb = products + padded, *ab = products + 2 * padded;
#pragma omp simd
  for (int64_t x = 0; x < padded; ++x) {
    aa[x] = a[x] * a[x];
    bb[x] = b[x] * b[x];
    ab[x] = a[x] * b[x];
  }
  const double* planes[kMoments] = {a, b, aa, bb, ab};
  for (int64_t m = 0; m < kMoments; ++m) blur_row(planes[m], width, weights, out + m * width);
}

void blur_down(const double* const* rows, int64_t count, const double* weights, double* out) {
  const double w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3], w4 = weights[4], w5 = weights[5];
  const double *r0 = rows[0], *r1 = rows[1], *r2 = rows[2], *r3 = rows[3], *r4 = rows[4], *r5 = rows[5], *r6 = rows[6],
               *r7 = rows[7], *r8 = rows[8], *r9 = rows[9], *r10 = rows[10];
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    out[i] = w0 * r5[i] + w1 * (r4[i] + r6[i]) + w2 * (r3[i] + r7[i]) + w3 * (r2[i] + r8[i]) + w4 * (r1[i] + r9[i]) +
             w5 * (r0[i] + r10[i]);
  }
}

double similarity_sum(const double* moments, int64_t width, const SimilarityTerms& terms) {
  double lanes[kLanes] = {};
  int64_t x = 0;
  for (; x + kLanes <= width; x += kLanes) {
#pragma omp simd
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += similarity(moments, width, x + lane, terms);
  }
  for (int64_t lane = 0; x < width; ++x, ++lane) lanes[lane] += similarity(moments, width, x, terms);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace quarkq::metrics::QQ_ISA
