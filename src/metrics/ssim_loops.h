// SPDX-License-Identifier: MIT
// The loops of the windowed similarity. A window's weights are symmetric: weights[d] is the weight at distance d.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::metrics {

constexpr int64_t kWindowRadius = 5;
constexpr int64_t kWindowSize = 2 * kWindowRadius + 1;
constexpr int64_t kMoments = 5;  ///< E[a], E[b], E[a a], E[b b], E[a b], in this order

/// The part of the similarity's formula that is constant.
struct SimilarityTerms {
  double c1 = 0, c2 = 0, guard = 0;
  bool is_central = true;             ///< Subtract the products of the means.
  double offset_a = 0, offset_b = 0;  ///< Offsets subtracted from the values before computing moments.
};

/// A row of both images: width + 10 pixels of each, so that the first of `width` windows starts with the first pixel.
struct RowPair {
  const double* a = nullptr;
  const double* b = nullptr;
  int64_t width = 0;
};

QQ_DECLARE_ISA(
    /// Computes the moments of the windows along a row. `products` is scratch for 3 * (width + 10) values; moment m is
    /// written to out[m * width ...].
    void blur_across(const RowPair& row, const double* weights, double* products, double* out);
    /// out[i] = the sum over the 11 rows of their values i, weighted.
    void blur_down(const double* const* rows, int64_t count, const double* weights, double* out);
    /// Returns the sum of the similarity of `width` windows, whose moments have the layout of blur_across(). Uses 8
    /// lanes on every instruction set.
    double similarity_sum(const double* moments, int64_t width, const SimilarityTerms& terms);)

}  // namespace quarkq::metrics
