// SPDX-License-Identifier: MIT
// The loops of AdaRound as they ship, on every instruction set: shares and costs against recorded numbers, the gradient
// against differences of what it is the gradient of, and the step of Adam against its definition.
#include "planning/tune/train_loops.h"

#include <cmath>

#include "planning/tune/optimizer.h"
#include "support/every_isa.h"
#include "support/golden_algorithms.h"
#include "support/pass_support.h"

namespace quarkq::planning {
namespace {

/// Weights on a grid of step `scale` and their variables.
struct Layer {
  std::vector<float> scales, floors, zeros, alpha, raw, first, second, weights;
  float low = -1000, high = 1000;

  explicit Layer(std::vector<float> start, float scale = 1)
      : scales(start.size(), scale),
        floors(start.size()),
        zeros(start.size()),
        alpha(std::move(start)),
        raw(alpha.size()),
        first(alpha.size()),
        second(alpha.size()),
        weights(alpha.size()) {}

  AdaRoundArrays arrays() {
    return {scales.data(), floors.data(), zeros.data(), alpha.data(), raw.data(),
            first.data(),  second.data(), low,          high};
  }
  int64_t size() const { return static_cast<int64_t>(alpha.size()); }
};

/// What a step learns from, in double precision: gradient times weights, and the cost of undecided shares.
double objective(const Layer& layer, const std::vector<double>& alpha, const std::vector<float>& gradient,
                 const AdaRoundStep& step) {
  double sum = 0;
  for (size_t i = 0; i < alpha.size(); ++i) {
    const double share = std::clamp(1.2 / (1 + std::exp(-alpha[i])) - 0.1, 0.0, 1.0);
    const double code = std::clamp(static_cast<double>(layer.floors[i]) + share, static_cast<double>(layer.low),
                                   static_cast<double>(layer.high));
    sum += static_cast<double>(gradient[i]) * code * static_cast<double>(layer.scales[i]);
    if (!step.is_warm_up)
      sum +=
          static_cast<double>(step.reg_param) * (1 - std::pow(std::abs(2 * share - 1), static_cast<double>(step.beta)));
  }
  return sum;
}

TEST(AdaRoundLoopsTest, SharesAndCostsAreTheRecordedOnes) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const nlohmann::json& golden = test::golden_algorithms();
  const std::vector<float> shares = test::flat(golden["adaround_h"]["h"]);
  const finetune::BetaSchedule schedule{1000, 0.2, 20, 2};
  for (const auto& [iteration, beta] : golden["adaround_beta"].items())
    EXPECT_NEAR(schedule.beta(std::stoi(iteration)), beta.get<double>(), 1e-6) << iteration;
  const auto check = [&](const auto& set_weights, const auto& take_step) {
    Layer layer(test::flat(golden["adaround_h"]["alpha"]));
    set_weights(layer.arrays(), layer.weights.data(), 0, layer.size());
    for (size_t i = 0; i < shares.size(); ++i) EXPECT_NEAR(layer.weights[i], shares[i], 1e-6);
    const std::vector<float> no_gradient(shares.size());
    for (const auto& [text, cost] : golden["adaround_round_loss"].items()) {
      const int iteration = std::stoi(text);
      Layer fresh = layer;
      const bool is_warm_up = schedule.is_warm_up(iteration);
      const AdaRoundStep step{is_warm_up, is_warm_up ? 0 : static_cast<float>(schedule.beta(iteration)), 0.01F};
      const double wanted = cost, found = 0.01 * take_step(fresh.arrays(), no_gradient.data(), step, 0, fresh.size());
      EXPECT_NEAR(found, wanted, 1e-6) << iteration;
    }
  };
  check(sse41::adaround_weights, sse41::adaround_step);
  if (isa() >= Isa::kAvx2) check(avx2::adaround_weights, avx2::adaround_step);
  if (isa() >= Isa::kAvx512) check(avx512::adaround_weights, avx512::adaround_step);
}

/// The first moment after one step from rest is a tenth of the gradient.
TEST(AdaRoundLoopsTest, FollowsTheGradientOfLossAndCost) {
  for (const bool is_warm_up : {true, false}) {
    const AdaRoundStep step{is_warm_up, is_warm_up ? 0.0F : 3.0F, 0.25F, 0.1F, 1.0F};
    const auto check = [&](const auto& set_weights, const auto& take_step) {
      Layer layer(test::random_values(197, 3, -2.2F, 2.2F), 0.5F);  // beyond +-2.4 shares are clipped
      const std::vector<float> gradient = test::random_values(197, 4, -1, 1);
      set_weights(layer.arrays(), layer.weights.data(), 0, layer.size());
      std::vector<double> at(layer.alpha.begin(), layer.alpha.end());
      const std::vector<double> start = at;
      const Layer before = layer;
      take_step(layer.arrays(), gradient.data(), step, 0, layer.size());
      for (size_t i = 0; i < at.size(); ++i) {
        constexpr double kStep = 1e-5;
        at[i] = start[i] + kStep;
        const double above = objective(before, at, gradient, step);
        at[i] = start[i] - kStep;
        const double slope = (above - objective(before, at, gradient, step)) / (2 * kStep);
        at[i] = start[i];
        EXPECT_NEAR(layer.first[i] * 10, slope, 1e-3) << i;
        const float moved = before.alpha[i] - layer.alpha[i];
        const float wanted = step.rate * layer.first[i] / (std::sqrt(layer.second[i]) * step.root + 1e-8F);
        EXPECT_NEAR(moved, wanted, 1e-5) << i;
      }
    };
    check(sse41::adaround_weights, sse41::adaround_step);
    if (isa() >= Isa::kAvx2) check(avx2::adaround_weights, avx2::adaround_step);
    if (isa() >= Isa::kAvx512) check(avx512::adaround_weights, avx512::adaround_step);
  }
}

TEST(AdaRoundLoopsTest, WeightsStayWhereSharesOrCodesAreClipped) {
  Layer layer({-5, 5, 0.3F, 0.3F});
  layer.low = -2;
  layer.high = 1;
  layer.floors = {0, 0, 1, -3};  // the third weight is above the largest code, the fourth below the smallest
  const std::vector<float> start = layer.alpha, gradient = {1, 1, 1, 1};
  QQ_DISPATCH(planning, adaround_weights)(layer.arrays(), layer.weights.data(), 0, layer.size());
  EXPECT_EQ(layer.weights, (std::vector<float>{0, 1, 1, -2}));
  QQ_DISPATCH(planning, adaround_step)(layer.arrays(), gradient.data(), {true, 0, 0, 0.1F, 1.0F}, 0, layer.size());
  EXPECT_EQ(layer.alpha, start);
}

TEST(AdaRoundLoopsTest, LeavesWhatLiesOutsideItsPart) {
  Layer layer(test::random_values(20));
  const std::vector<float> start = layer.alpha, gradient(20, 1.0F);
  QQ_DISPATCH(planning, adaround_weights)(layer.arrays(), layer.weights.data(), 0, layer.size());
  QQ_DISPATCH(planning, adaround_step)(layer.arrays(), gradient.data(), {true, 0, 0, 0.1F, 1.0F}, 5, 12);
  for (size_t i = 0; i < start.size(); ++i)
    EXPECT_EQ(layer.alpha[i] == start[i], i < 5 || i >= 12 || std::abs(start[i]) > 2.4F) << i;
}

}  // namespace
}  // namespace quarkq::planning
