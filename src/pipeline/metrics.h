// SPDX-License-Identifier: MIT
// Distances between two arrays. All sums in double, in index order.
#pragma once

#include <span>

namespace quarkq::pipeline {

/// dot(a, b) / (|a| |b|); 1 when both are zero, 0 when one is. REQUIRES: same size.
double cosine(std::span<const double> a, std::span<const double> b);
/// 10 log10(sum reference^2 / sum (reference - other)^2); infinite when equal.
double sqnr_db(std::span<const double> reference, std::span<const double> other);
/// |a - b|. REQUIRES: same size.
double l2_distance(std::span<const double> a, std::span<const double> b);

/// Which value of the reference array counts as the loudest signal of psnr_db().
enum class Peak { kMagnitude, kSigned };
/// 20 log10(peak) - 10 log10(mean squared error), both at least 1e-10 (spec 03 D.3). REQUIRES: same size, not empty.
double psnr_db(std::span<const double> reference, std::span<const double> other, Peak peak);

}  // namespace quarkq::pipeline
