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

// The sums that every distance of two arrays is computed from, in one pass.

/// Sums over arrays a (the baseline) and b. The loops propagate NaN; numeric::pair_sums() leaves NaN and infinities
/// out.
struct PairSums {
  double dot = 0, norm_a = 0, norm_b = 0;  ///< sums of a b, a a, b b
  double squared_distance = 0;             ///< sum of (a - b)^2
  double max_distance = 0;                 ///< largest |a - b|
  double max_a = 0;                        ///< largest a
  double max_magnitude_a = 0;              ///< largest |a|
  /// The sums are those of values * 2^-exponent, because the squares of large doubles are infinite; the largest values
  /// are as they are.
  int exponent = 0;
  uint64_t compared = 0;   ///< places where both hold a finite number: those that the sums are about
  uint64_t same = 0;       ///< places where both hold NaN, or the same infinity; left out of the sums
  uint64_t differing = 0;  ///< places where one holds NaN or an infinity that the other does not; left out of the sums
};

QQ_DECLARE_ISA(
    /// Sums run in 8 lanes, whatever the instruction set: value i belongs to lane i % 8. REQUIRES: count >= 1.
    PairSums pair_sums(const double* a, const double* b, int64_t count);)

/// The places of two arrays where both hold a finite number; every other place holds 0 in both.
struct FinitePart {
  std::vector<double> a, b;
  uint64_t same = 0, differing = 0;  ///< as in PairSums
};
/// Returns nullopt if every value of both arrays is finite. REQUIRES: same size.
std::optional<FinitePart> finite_part(std::span<const double> a, std::span<const double> b);

/// Computes the sums that every distance below derives from, over the finite part of both arrays. REQUIRES: same size.
PairSums pair_sums(std::span<const double> a, std::span<const double> b);
/// Computes these sums over all values: a NaN or an infinity makes the distances NaN or infinite, as in the reference.
PairSums pair_sums_of_all(std::span<const double> a, std::span<const double> b);
/// Adds the sums of further values: `all` then is what pair_sums() of the arrays one after the other would give, up to
/// rounding.
void add(const PairSums& added, PairSums& all);

/// dot(a, b) / (|a| |b|); 1 when both are zero, 0 when one is. A positive cosine is multiplied by the share of the
/// places that hold comparable values, so that NaN where the baseline has none lowers it.
double cosine(const PairSums& sums);
/// 10 log10(sum a^2 / sum (a - b)^2); infinite when equal.
double sqnr_db(const PairSums& sums);
/// "1.2 dB"; "exact" when infinite, "no signal" when minus infinite.
std::string decibels_text(double value);
/// |a - b|.
double l2_distance(const PairSums& sums);

/// Which value of the baseline counts as the loudest signal of psnr_db().
enum class Peak { kMagnitude, kSigned };
/// 20 log10(peak) - 10 log10(mean squared error), both at least 1e-10 (ref:evaluation#metrics).
double psnr_db(const PairSums& sums, Peak peak);

}  // namespace quarkq::numeric
