// SPDX-License-Identifier: MIT
// Distances between two arrays: `a` is the baseline.
#pragma once

#include <span>
#include <string>

#include "numeric/metrics_loops.h"

namespace quarkq::numeric {

/// What every distance below follows from. REQUIRES: same size.
PairSums pair_sums(std::span<const double> a, std::span<const double> b);
/// Adds the sums of further values: `all` then is what pair_sums() of the arrays one after the other would give, up to
/// rounding.
void add(const PairSums& added, PairSums& all);

/// dot(a, b) / (|a| |b|); 1 when both are zero, 0 when one is.
double cosine(const PairSums& sums);
/// 10 log10(sum a^2 / sum (a - b)^2); infinite when equal.
double sqnr_db(const PairSums& sums);
/// "1.2 dB"; "exact" when infinite, "no signal" when minus infinite.
std::string decibels_text(double value);
/// |a - b|.
double l2_distance(const PairSums& sums);

/// Which value of the baseline counts as the loudest signal of psnr_db().
enum class Peak { kMagnitude, kSigned };
/// 20 log10(peak) - 10 log10(mean squared error), both at least 1e-10 (ref:evaluation#metrics). REQUIRES: count >= 1.
double psnr_db(const PairSums& sums, size_t count, Peak peak);

}  // namespace quarkq::numeric
