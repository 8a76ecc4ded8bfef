// SPDX-License-Identifier: MIT
// Distances between two arrays. All sums in double, in index order.
#pragma once

#include <span>

namespace quarkq::pipeline {

/// dot(a, b) / (|a| |b|); 1 when both are zero, 0 when one is. REQUIRES: same size.
double cosine(std::span<const double> a, std::span<const double> b);
/// 10 log10(sum reference^2 / sum (reference - other)^2); infinite when equal.
double sqnr_db(std::span<const double> reference, std::span<const double> other);

}  // namespace quarkq::pipeline
