// SPDX-License-Identifier: MIT
#include "pipeline/metrics.h"

#include <cmath>
#include <limits>

namespace quarkq::pipeline {

double cosine(std::span<const double> a, std::span<const double> b) {
  double dot = 0, norm_a = 0, norm_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    norm_a += a[i] * a[i];
    norm_b += b[i] * b[i];
  }
  if (norm_a == 0 && norm_b == 0) return 1;
  if (norm_a == 0 || norm_b == 0) return 0;
  return dot / (std::sqrt(norm_a) * std::sqrt(norm_b));
}

double sqnr_db(std::span<const double> reference, std::span<const double> other) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    signal += reference[i] * reference[i];
    noise += (reference[i] - other[i]) * (reference[i] - other[i]);
  }
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

}  // namespace quarkq::pipeline
