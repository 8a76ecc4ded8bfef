// SPDX-License-Identifier: MIT
// Adam in float32. Each variable is on its own, so the result does not depend on threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "planning/tune/element_loops.h"

namespace quarkq::planning::finetune {

constexpr double kAdamDecay1 = 0.9, kAdamDecay2 = 0.999;

/// The corrections of step number `count`, from 1 on.
struct AdamFactors {
  AdamFactors(int64_t count, double learning_rate)
      : rate(static_cast<float>(learning_rate / (1 - std::pow(kAdamDecay1, count)))),
        root(static_cast<float>(1 / std::sqrt(1 - std::pow(kAdamDecay2, count)))) {}
  float rate, root;
};

class Adam {
 public:
  Adam(size_t count, double learning_rate) : first_(count), second_(count), rate_(learning_rate) {}

  void step(std::vector<float>& variables, const std::vector<float>& gradient) {
    const AdamFactors factors(++count_, rate_);
    for_each_element(variables.size(), kWeightsPerPiece, [&](size_t i) {
      const float g = gradient[i];
      first_[i] = static_cast<float>(kAdamDecay1) * first_[i] + static_cast<float>(1 - kAdamDecay1) * g;
      second_[i] = static_cast<float>(kAdamDecay2) * second_[i] + static_cast<float>(1 - kAdamDecay2) * g * g;
      variables[i] -= factors.rate * first_[i] / (std::sqrt(second_[i]) * factors.root + 1e-8f);
    });
  }

 private:
  std::vector<float> first_, second_;
  double rate_;
  int64_t count_ = 0;
};

}  // namespace quarkq::planning::finetune
