// SPDX-License-Identifier: MIT
#include "planning/restructure/dpu_factors.h"

#include <cmath>

#include "base/check.h"

namespace quarkq::planning {
namespace {

constexpr int64_t kLargestKernel = 255;

struct FixedFactor {
  int64_t kernel;
  double factor;
};
constexpr FixedFactor kFixedFactors[] = {
    {3, 9.0 * 7 / 64}, {5, 25.0 * 10 / 256}, {6, 36.0 * 7 / 256}, {7, 49.0 * 21 / 1024}, {14, 196.0 * 21 / 4096},
};

}  // namespace

double mean_factor(int64_t count) {
  QQ_CHECK(count > 0);
  const auto size = static_cast<double>(count);
  const int shifts = 7 + static_cast<int>(std::ceil(std::log2(size)));
  double best_factor = 1, best_error = HUGE_VAL;
  for (int n = 0; n < shifts; ++n) {
    const double multiplier = std::nearbyint(std::ldexp(1.0, n) / size);
    const double quotient = std::ldexp(multiplier, -n), error = std::abs(quotient - 1 / size);
    if (error < best_error) {
      best_error = error;
      best_factor = quotient * size;
    }
  }
  return best_factor;
}

double average_pool_factor(int64_t kernel) {
  if (kernel > kLargestKernel) return 1;
  for (const FixedFactor& row : kFixedFactors) {
    if (row.kernel == kernel) return row.factor;
  }
  return mean_factor(kernel * kernel);
}

float dpu_leaky_relu_alpha(float alpha) {
  return static_cast<float>(std::nearbyint(static_cast<double>(alpha) * 256) / 256);
}

bool has_dpu_hard_sigmoid_attributes(const ir::Node& node) {
  constexpr double kTolerance = 1e-6;
  const auto* alpha = node.get<float>("alpha");
  const auto* beta = node.get<float>("beta");
  return alpha != nullptr && std::abs(static_cast<double>(*alpha) - 1.0 / 6) < kTolerance &&
         (beta == nullptr || std::abs(static_cast<double>(*beta) - 0.5) < kTolerance);
}

}  // namespace quarkq::planning
