// SPDX-License-Identifier: MIT
// Gradients against central differences of the loss.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace quarkq::test {

/// What is derived: `variable` is changed in place and set back, `gradient` is what it is said to have.
struct Derivative {
  std::string name;
  std::vector<float>& variable;
  const std::vector<float>& gradient;
  size_t probes = 25;  ///< elements to look at, evenly spread
};

/// `loss()`: of the variable as it is at the call.
template <typename Loss>
void expect_finite_differences(const Derivative& derivative, Loss loss) {
  constexpr float kStep = 2.5e-4f;
  ASSERT_EQ(derivative.gradient.size(), derivative.variable.size()) << derivative.name;
  const size_t stride = std::max<size_t>(1, derivative.variable.size() / derivative.probes);
  for (size_t i = 0; i < derivative.variable.size(); i += stride) {
    float& value = derivative.variable[i];
    const float before = value;
    value = before + kStep;
    const double above = loss();
    value = before - kStep;
    const double below = loss();
    value = before;
    const double expected = (above - below) / (2 * static_cast<double>(kStep));
    EXPECT_NEAR(static_cast<double>(derivative.gradient[i]), expected, 0.02 * (1 + std::abs(expected)))
        << derivative.name << " " << i;
  }
}

}  // namespace quarkq::test
