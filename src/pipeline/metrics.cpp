// SPDX-License-Identifier: MIT
#include "pipeline/metrics.h"

#include <cmath>
#include <limits>

namespace quarkq::pipeline {
namespace {

constexpr double kFloor = 1e-10;  // stands for an error or a peak of zero (spec 03 D.3)

/// sum (a - b)^2
double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

double peak_of(std::span<const double> values, Peak peak) {
  double most = -std::numeric_limits<double>::infinity();
  for (const double value : values) {
    const double candidate = peak == Peak::kMagnitude ? std::abs(value) : value;
    if (std::isnan(candidate)) return candidate;
    most = candidate > most ? candidate : most;
  }
  return most;
}

}  // namespace

double cosine(std::span<const double> a, std::span<const double> b) {
  double dot = 0, norm_a = 0, norm_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    norm_a += a[i] * a[i];
    norm_b += b[i] * b[i];
  }
  if (norm_a == 0 && norm_b == 0) return 1;
  if (norm_a == 0 || norm_b == 0) return 0;
  const double both = norm_a * norm_b;  // one root of the product: equal arrays give exactly 1
  if (std::isnormal(both)) return dot / std::sqrt(both);
  return dot / (std::sqrt(norm_a) * std::sqrt(norm_b));
}

double sqnr_db(std::span<const double> reference, std::span<const double> other) {
  double signal = 0;
  for (const double value : reference) signal += value * value;
  const double noise = squared_distance(reference, other);
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

double l2_distance(std::span<const double> a, std::span<const double> b) { return std::sqrt(squared_distance(a, b)); }

double psnr_db(std::span<const double> reference, std::span<const double> other, Peak peak) {
  const double error = squared_distance(reference, other) / static_cast<double>(reference.size());
  const double loudest = peak_of(reference, peak);
  return 20 * std::log10(loudest <= 0 ? kFloor : loudest) - 10 * std::log10(error == 0 ? kFloor : error);
}

}  // namespace quarkq::pipeline
