// SPDX-License-Identifier: MIT
#include "numeric/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

namespace quarkq::numeric {
namespace {

constexpr double kFloor = 1e-10;  // stands for an error or a peak of zero (ref:evaluation#metrics)

// The largest double to the power of two, 2^50 times, is finite then.
constexpr int kLargeExponent = 540;

/// The sums as those of values * 2^-exponent. REQUIRES: not less than the exponent they have.
PairSums with_exponent(PairSums sums, int exponent) {
  const int shift = 2 * (sums.exponent - exponent);
  for (double* sum : {&sums.dot, &sums.norm_a, &sums.norm_b, &sums.squared_distance}) *sum = std::ldexp(*sum, shift);
  sums.exponent = exponent;
  return sums;
}

/// NaN when one of them is.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

PairSums pair_sums(std::span<const double> a, std::span<const double> b) {
  if (a.empty()) return {};
  const auto count = static_cast<int64_t>(a.size());
  PairSums sums = QQ_DISPATCH(numeric, pair_sums)(a.data(), b.data(), count);
  const double total = sums.norm_a + sums.norm_b + sums.squared_distance;
  if (!std::isinf(total)) return sums;
  std::vector<double> small_a(a.begin(), a.end()), small_b(b.begin(), b.end());
  for (double& value : small_a) value = std::ldexp(value, -kLargeExponent);
  for (double& value : small_b) value = std::ldexp(value, -kLargeExponent);
  PairSums scaled = QQ_DISPATCH(numeric, pair_sums)(small_a.data(), small_b.data(), count);
  scaled.max_distance = sums.max_distance;
  scaled.max_a = sums.max_a;
  scaled.max_magnitude_a = sums.max_magnitude_a;
  scaled.exponent = kLargeExponent;
  return scaled;
}

void add(const PairSums& added, PairSums& all) {
  const int exponent = std::max(added.exponent, all.exponent);
  const PairSums more = with_exponent(added, exponent);
  all = with_exponent(all, exponent);
  all.dot += more.dot;
  all.norm_a += more.norm_a;
  all.norm_b += more.norm_b;
  all.squared_distance += more.squared_distance;
  all.max_distance = larger(more.max_distance, all.max_distance);
  all.max_a = larger(more.max_a, all.max_a);
  all.max_magnitude_a = larger(more.max_magnitude_a, all.max_magnitude_a);
}

std::string decibels_text(double value) {
  if (std::isinf(value)) return value > 0 ? "exact" : "no signal";
  char text[64];
  std::snprintf(text, sizeof text, "%.1f dB", value);
  return text;
}

double cosine(const PairSums& sums) {
  if (sums.norm_a == 0 && sums.norm_b == 0) return 1;
  if (sums.norm_a == 0 || sums.norm_b == 0) return 0;
  const double both = sums.norm_a * sums.norm_b;  // one root of the product: equal arrays give exactly 1
  if (std::isnormal(both)) return sums.dot / std::sqrt(both);
  return sums.dot / (std::sqrt(sums.norm_a) * std::sqrt(sums.norm_b));
}

double sqnr_db(const PairSums& sums) {
  if (sums.squared_distance == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(sums.norm_a / sums.squared_distance);
}

double l2_distance(const PairSums& sums) { return std::ldexp(std::sqrt(sums.squared_distance), sums.exponent); }

double psnr_db(const PairSums& sums, size_t count, Peak peak) {
  const double error = sums.squared_distance / static_cast<double>(count);
  const double scale_db = 20 * sums.exponent * std::log10(2.0);
  const double loudest = peak == Peak::kMagnitude ? sums.max_magnitude_a : sums.max_a;
  return 20 * std::log10(loudest <= 0 ? kFloor : loudest) - 10 * std::log10(error == 0 ? kFloor : error) -
         (error == 0 ? 0 : scale_db);
}

}  // namespace quarkq::numeric
