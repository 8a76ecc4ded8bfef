// SPDX-License-Identifier: MIT
#include "planning/mixed_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "numeric/metrics.h"

namespace quarkq::planning {
namespace {

using Values = std::span<const double>;
constexpr double kTiny = 1e-10;

double l2(Values reference, Values quantized) { return numeric::l2_distance(numeric::pair_sums(reference, quantized)); }

/// As shares of a sum; equal ones when there is nothing to share.
std::vector<double> distribution(Values values) {
  const double low = std::min(*std::min_element(values.begin(), values.end()), 0.0);
  std::vector<double> shares(values.begin(), values.end());
  double sum = 0;
  for (double& share : shares) sum += share -= low;
  for (double& share : shares) share = sum > 0 ? share / sum : 1.0 / static_cast<double>(shares.size());
  return shares;
}

double kl(Values reference, Values quantized) {
  const std::vector<double> p = distribution(reference), r = distribution(quantized);
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += p[i] * std::log((p[i] + kTiny) / (r[i] + kTiny));
  return sum;
}

double cosine(Values reference, Values quantized) {
  const numeric::PairSums sums = numeric::pair_sums(reference, quantized);
  const double least = std::ldexp(kTiny, -sums.exponent);
  const bool is_tiny = std::sqrt(sums.norm_a) < least || std::sqrt(sums.norm_b) < least;
  return is_tiny ? 0.0 : 1.0 - numeric::cosine(sums);
}

double sqnr(Values reference, Values quantized) {
  const numeric::PairSums sums = numeric::pair_sums(reference, quantized);
  const auto count = static_cast<double>(reference.size());
  const double least = std::max(std::ldexp(kTiny, -2 * sums.exponent), std::numeric_limits<double>::min());
  return -10.0 * std::log10(std::max(sums.norm_a / count, least) / std::max(sums.squared_distance / count, least));
}

double psnr(Values reference, Values quantized) {
  return -numeric::psnr_db(numeric::pair_sums(reference, quantized), numeric::Peak::kMagnitude);
}

constexpr struct {
  MixedMetric metric;
  double (*measure)(Values, Values);
} kMetricFunctions[] = {{MixedMetric::kL2, l2},
                        {MixedMetric::kKl, kl},
                        {MixedMetric::kCosine, cosine},
                        {MixedMetric::kSqnr, sqnr},
                        {MixedMetric::kPsnr, psnr}};

}  // namespace

double mixed_metric(MixedMetric metric, Values reference, Values quantized) {
  if (reference.empty()) return 0;
  const std::optional<numeric::FinitePart> part = numeric::finite_part(reference, quantized);
  if (part && part->differing > 0) return std::numeric_limits<double>::infinity();
  if (part) return mixed_metric(metric, part->a, part->b);
  for (const auto& row : kMetricFunctions) {
    if (row.metric == metric) return row.measure(reference, quantized);
  }
  return 0;
}

}  // namespace quarkq::planning
