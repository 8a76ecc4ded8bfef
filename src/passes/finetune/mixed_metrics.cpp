// SPDX-License-Identifier: MIT
#include "passes/finetune/mixed_metrics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace quarkq::passes {
namespace {

using Values = std::span<const double>;
constexpr double kTiny = 1e-10;

double product(Values a, Values b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double squared_distance(Values a, Values b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

double l2(Values reference, Values quantized) { return std::sqrt(squared_distance(reference, quantized)); }

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
  const double a = std::sqrt(product(reference, reference)), b = std::sqrt(product(quantized, quantized));
  return a < kTiny || b < kTiny ? 0.0 : 1.0 - product(reference, quantized) / (a * b);
}

double sqnr(Values reference, Values quantized) {
  const auto count = static_cast<double>(reference.size());
  const double signal = std::max(product(reference, reference) / count, kTiny);
  const double noise = std::max(squared_distance(reference, quantized) / count, kTiny);
  return -10.0 * std::log10(signal / noise);
}

double psnr(Values reference, Values quantized) {
  double peak = 0, error = squared_distance(reference, quantized) / static_cast<double>(reference.size());
  for (const double value : reference) peak = std::max(peak, std::abs(value));
  if (error == 0) error = kTiny;
  if (peak <= 0) peak = kTiny;
  return -(20.0 * std::log10(peak) - 10.0 * std::log10(error));
}

constexpr struct {
  MixedMetric metric;
  double (*measure)(Values, Values);
} kMetrics[] = {{MixedMetric::kL2, l2},
                {MixedMetric::kKl, kl},
                {MixedMetric::kCosine, cosine},
                {MixedMetric::kSqnr, sqnr},
                {MixedMetric::kPsnr, psnr}};

}  // namespace

double mixed_metric(MixedMetric metric, Values reference, Values quantized) {
  if (reference.empty()) return 0;
  for (const auto& row : kMetrics) {
    if (row.metric == metric) return row.measure(reference, quantized);
  }
  return 0;
}

}  // namespace quarkq::passes
