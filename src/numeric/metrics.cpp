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

/// Returns the sums for values * 2^-exponent. REQUIRES: not less than the current exponent.
PairSums with_exponent(PairSums sums, int exponent) {
  const int shift = 2 * (sums.exponent - exponent);
  for (double* sum : {&sums.dot, &sums.norm_a, &sums.norm_b, &sums.squared_distance}) *sum = std::ldexp(*sum, shift);
  sums.exponent = exponent;
  return sums;
}

double cosine_of_compared(const PairSums& sums) {
  if (sums.norm_a == 0 && sums.norm_b == 0) return 1;
  if (sums.norm_a == 0 || sums.norm_b == 0) return 0;
  const double both = sums.norm_a * sums.norm_b;  // one root of the product: equal arrays give exactly 1
  if (std::isnormal(both)) return sums.dot / std::sqrt(both);
  return sums.dot / (std::sqrt(sums.norm_a) * std::sqrt(sums.norm_b));
}

/// NaN when one of them is.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

std::optional<FinitePart> finite_part(std::span<const double> a, std::span<const double> b) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (std::ranges::all_of(a, is_finite) && std::ranges::all_of(b, is_finite)) return std::nullopt;
  FinitePart part{{a.begin(), a.end()}, {b.begin(), b.end()}};
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i])) continue;
    const bool is_same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    ++(is_same ? part.same : part.differing);
    part.a[i] = part.b[i] = 0;
  }
  return part;
}

PairSums pair_sums(std::span<const double> a, std::span<const double> b) {
  PairSums sums = pair_sums_of_all(a, b);
  if (std::isfinite(sums.norm_a) && std::isfinite(sums.norm_b)) return sums;
  const std::optional<FinitePart> part = finite_part(a, b);
  if (!part) return sums;
  sums = pair_sums_of_all(part->a, part->b);
  sums.same = part->same;
  sums.differing = part->differing;
  sums.compared -= part->same + part->differing;
  return sums;
}

PairSums pair_sums_of_all(std::span<const double> a, std::span<const double> b) {
  if (a.empty()) return {};
  const auto count = static_cast<int64_t>(a.size());
  PairSums sums = QQ_DISPATCH(numeric, pair_sums)(a.data(), b.data(), count);
  sums.compared = a.size();
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
  scaled.compared = a.size();
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
  all.compared += more.compared;
  all.same += more.same;
  all.differing += more.differing;
}

std::string decibels_text(double value) {
  if (std::isinf(value)) return value > 0 ? "exact" : "no signal";
  char text[64];
  std::snprintf(text, sizeof text, "%.1f dB", value);
  return text;
}

double cosine(const PairSums& sums) {
  const double angle = cosine_of_compared(sums);
  if (sums.differing == 0 || angle <= 0) return angle;
  return angle * static_cast<double>(sums.compared) / static_cast<double>(sums.compared + sums.differing);
}

double sqnr_db(const PairSums& sums) {
  if (sums.squared_distance == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(sums.norm_a / sums.squared_distance);
}

double l2_distance(const PairSums& sums) { return std::ldexp(std::sqrt(sums.squared_distance), sums.exponent); }

double psnr_db(const PairSums& sums, Peak peak) {
  const double error = sums.squared_distance / static_cast<double>(std::max<uint64_t>(1, sums.compared));
  const double scale_db = 20 * sums.exponent * std::log10(2.0);
  const double loudest = peak == Peak::kMagnitude ? sums.max_magnitude_a : sums.max_a;
  return 20 * std::log10(loudest <= 0 ? kFloor : loudest) - 10 * std::log10(error == 0 ? kFloor : error) -
         (error == 0 ? 0 : scale_db);
}

}  // namespace quarkq::numeric
