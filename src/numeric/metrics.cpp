// SPDX-License-Identifier: MIT
#include "numeric/metrics.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace quarkq::numeric {
namespace {

constexpr double kFloor = 1e-10;  // stands for an error or a peak of zero (ref:evaluation#metrics)

/// NaN when one of them is.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

PairSums pair_sums(std::span<const double> a, std::span<const double> b) {
  if (a.empty()) return {};
  return QQ_DISPATCH(numeric, pair_sums)(a.data(), b.data(), static_cast<int64_t>(a.size()));
}

void add(const PairSums& more, PairSums& all) {
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

double l2_distance(const PairSums& sums) { return std::sqrt(sums.squared_distance); }

double psnr_db(const PairSums& sums, size_t count, Peak peak) {
  const double error = sums.squared_distance / static_cast<double>(count);
  const double loudest = peak == Peak::kMagnitude ? sums.max_magnitude_a : sums.max_a;
  return 20 * std::log10(loudest <= 0 ? kFloor : loudest) - 10 * std::log10(error == 0 ? kFloor : error);
}

}  // namespace quarkq::numeric
