// SPDX-License-Identifier: MIT
// Distances between two arrays: `a` is the baseline.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/isa.h"

namespace quarkq::numeric {

/// Sums over arrays a (the baseline) and b. The loops propagate NaN; numeric::pair_sums() excludes NaN and infinities.
struct PairSums {
  double dot = 0, norm_a = 0, norm_b = 0;  ///< sums of a b, a a, b b
  double squared_distance = 0;             ///< sum of (a - b)^2
  double max_distance = 0;                 ///< largest |a - b|
  double max_a = 0;                        ///< largest a
  double max_magnitude_a = 0;              ///< largest |a|
  /// The sums are computed from values * 2^-exponent, because the squares of large doubles are infinite. The largest
  /// values are not scaled.
  int exponent = 0;
  uint64_t compared = 0;   ///< Number of places where both values are finite; the sums cover these places.
  uint64_t same = 0;       ///< Number of places where both values are NaN or the same infinity; excluded from the sums.
  uint64_t differing = 0;  ///< Number of places where only one value is NaN or this infinity; excluded from the sums.
};

QQ_DECLARE_ISA(
    /// Computes the sums in 8 lanes on every instruction set: value i belongs to lane i % 8. REQUIRES: count >= 1.
    PairSums pair_sums(const double* a, const double* b, int64_t count);)

/// Two arrays with 0 in both at every place where one of them is not finite.
struct FinitePart {
  std::vector<double> a, b;
  uint64_t same = 0, differing = 0;  ///< Counted as in PairSums.
};
/// Returns nullopt if every value of both arrays is finite. REQUIRES: same size.
std::optional<FinitePart> finite_part(std::span<const double> a, std::span<const double> b);

/// Computes the sums that every distance below derives from, over the finite part of both arrays. REQUIRES: same size.
PairSums pair_sums(std::span<const double> a, std::span<const double> b);
/// Computes these sums over all values: a NaN or an infinity makes the distances NaN or infinite, as in the reference.
PairSums pair_sums_of_all(std::span<const double> a, std::span<const double> b);
/// Adds the sums of further values. Up to rounding, `all` then equals pair_sums() of the concatenated arrays.
void add(const PairSums& added, PairSums& all);

/// Returns dot(a, b) / (|a| |b|); 1 if both are zero, 0 if one is. A positive cosine is multiplied by the share of
/// comparable places, so that a NaN that the baseline does not have lowers it.
double cosine(const PairSums& sums);
/// Returns 10 log10(sum a^2 / sum (a - b)^2); infinite for equal arrays.
double sqnr_db(const PairSums& sums);
/// Returns "1.2 dB", "exact" for infinity and "no signal" for minus infinity.
std::string decibels_text(double value);
/// Returns |a - b|.
double l2_distance(const PairSums& sums);

/// The value of the baseline that counts as peak in psnr_db().
enum class Peak { kMagnitude, kSigned };
/// Returns 20 log10(peak) - 10 log10(mean squared error), both at least 1e-10 (ref:evaluation#metrics).
double psnr_db(const PairSums& sums, Peak peak);

}  // namespace quarkq::numeric
