// SPDX-License-Identifier: MIT
// Fixed-point positions after the refinement, from many random starts: nothing is left that a rule would move, nothing
// but activations, weights and biases of the rules' operators has moved, and a second refinement moves nothing.
#include "planning/constrain/refine_positions.h"

#include <random>

#include "planning/constrain/npu_limits.h"
#include "support/npu_support.h"

namespace quarkq::pass_tests {
namespace {

struct PositionModel {
  const char* name;
  std::string body;
};

const std::string kWeights = cat("float[3, 2, 1, 1] w = ", test::numbers(6, 1), ", float[3] b = ", test::numbers(3, 2));

const PositionModel kModels[] = {
    {"Conv", cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <", kWeights, "> { y = Conv (x, w, b) }")},
    {"ConvRelu",
     cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <", kWeights, "> { c = Conv (x, w, b) y = Relu (c) }")},
    {"ConvLeakyRelu",
     cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <", kWeights, "> { c = Conv (x, w, b) y = LeakyRelu (c) }")},
    {"TwoConvs", cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <", kWeights,
                     ", float[3, 3, 1, 1] v = ", test::numbers(9, 3), "> { c = Conv (x, w, b) y = Conv (c, v) }")},
    {"Gemm", cat("g (float[2, 3] x) => (float[2, 4] y) <float[3, 4] w = ", test::numbers(12, 1),
                 ", float[4] b = {1, 2, 3, 4}> { y = Gemm (x, w, b) }")},
    {"Add", "g (float[4] x, float[4] z) => (float[4] y) { y = Add (x, z) }"},
    {"Sub", "g (float[4] x, float[4] z) => (float[4] y) { y = Sub (x, z) }"},
    {"Mul", "g (float[4] x, float[4] z) => (float[4] y) { y = Mul (x, z) }"},
    {"AddMul", "g (float[4] x, float[4] z) => (float[4] y) { a = Add (x, z) y = Mul (a, z) }"},
    {"Concat", "g (float[1, 4] x, float[1, 4] z) => (float[2, 4] y) { y = Concat <axis = 0> (x, z) }"},
    {"ConcatOfConcat",
     "g (float[1, 4] x, float[1, 4] z) => (float[3, 4] y) { a = Concat <axis = 0> (x, z) y = Concat <axis = 0> (a, x) "
     "}"},
    {"Pools",
     "g (float[1, 1, 6, 6] x) => (float[1, 1, 4, 4] y) { a = MaxPool <kernel_shape = [2, 2]> (x) y = AveragePool "
     "<kernel_shape = [2, 2]> (a) }"},
    {"Slice", "g (float[4] x) => (float[2] y) <int64[1] s = {0}, int64[1] e = {2}> { y = Slice (x, s, e) }"},
    {"Pad", "g (float[4] x) => (float[6] y) <int64[2] p = {1, 1}> { y = Pad (x, p) }"},
    {"HardSigmoid", "g (float[4] x) => (float[4] y) { y = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) }"},
    {"Swish", "g (float[4] x) => (float[4] y) { h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul (x, h) }"},
    {"Residual", cat("g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = ", test::numbers(4, 1),
                     ", float[2] b = ", test::numbers(2, 2), "> { c = Conv (x, w, b) a = Add (c, x) y = Relu (a) }")},
};

/// A planned model with random positions on every parameter.
struct RandomPositions {
  test::PassBench bench;

  RandomPositions(const std::string& body, uint32_t seed, const std::vector<std::string>& more = {})
      : bench(test::model_of(body), test::settings_for("XINT8", with_all(more))) {
    test::run_phases(bench, {"select", "mark"});
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> position(-6, 20);
    for (const plan::QuantSlot& slot : bench.context.plan.slots())
      bench.context.plan.params.set(slot.stage.params, {{numeric::scale_of_position(position(generator)), 0}});
  }
  static std::vector<std::string> with_all(std::vector<std::string> more) {
    more.emplace_back("QuantizeAllOpTypes=true");
    return more;
  }
  Refinement refine_now() { return refine(bench.graph(), bench.context.plan, bench.settings); }
  std::vector<int> positions() const {
    std::vector<int> all;
    for (const plan::QuantSlot& slot : bench.context.plan.slots())
      all.push_back(numeric::power_of_two_position(bench.context.plan.params[slot.stage.params][0].scale));
    return all;
  }
  std::string violations() const {
    std::vector<std::string> found;
    for (const NpuFinding& one : npu_findings(bench.graph(), bench.context.plan, bench.settings)) {
      if (one.rule != "eight_bits" && one.rule != "power_of_two")
        found.push_back(cat(one.rule, " of ", one.tensor, ": ", one.measure, " ", one.found));
    }
    return join(found, ", ");
  }
};

TEST(PositionPropertiesTest, WhatIsSettledViolatesNothing) {
  int settled = 0;
  for (const PositionModel& model : kModels) {
    for (uint32_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(cat(model.name, " from seed ", seed));
      RandomPositions start(model.body, seed);
      const Refinement refinement = start.refine_now();
      EXPECT_LE(refinement.loops, start.bench.settings.npu.max_loop_num);
      if (!refinement.is_settled) continue;
      ++settled;
      EXPECT_EQ(start.violations(), "");
      const std::vector<int> once = start.positions();
      const Refinement again = start.refine_now();
      EXPECT_TRUE(again.moves.empty());
      EXPECT_EQ(start.positions(), once);
    }
  }
  EXPECT_GT(settled, 600);
}

TEST(PositionPropertiesTest, MovesAreThoseBetweenBeforeAndAfter) {
  for (const PositionModel& model : kModels) {
    for (uint32_t seed = 50; seed <= 60; ++seed) {
      RandomPositions start(model.body, seed);
      std::map<plan::ParamId, int> positions;
      const auto& slots = start.bench.context.plan.slots();
      const std::vector<int> before = start.positions();
      for (size_t i = 0; i < slots.size(); ++i) positions[slots[i].stage.params] = before[i];
      for (const PositionMove& move : start.refine_now().moves) {
        EXPECT_EQ(positions[move.position.params], move.position.at) << model.name << ", " << move.rule->name;
        EXPECT_NE(move.to, move.position.at) << move.rule->name;
        EXPECT_TRUE(move.found < move.low || move.found > move.high) << move.rule->name;
        positions[move.position.params] = move.to;
      }
      const std::vector<int> after = start.positions();
      for (size_t i = 0; i < slots.size(); ++i) EXPECT_EQ(positions[slots[i].stage.params], after[i]) << model.name;
    }
  }
}

TEST(PositionPropertiesTest, OptionsThatAreOffMoveNothing) {
  const std::vector<std::string> off = {"AlignConcat=false",     "AlignPool=false",       "AlignPad=false",
                                        "AlignSlice=false",      "AdjustShiftRead=false", "AdjustShiftWrite=false",
                                        "AdjustShiftCut=false",  "AdjustShiftBias=false", "AdjustHardSigmoid=false",
                                        "AdjustShiftSwish=false"};
  for (const PositionModel& model : kModels) {
    RandomPositions start(model.body, 3, off);
    const std::vector<int> before = start.positions();
    EXPECT_TRUE(start.refine_now().moves.empty()) << model.name;
    EXPECT_EQ(start.positions(), before) << model.name;
  }
}

/// A sweep that looks lists the first moves of one that moves.
TEST(PositionPropertiesTest, LookingChangesNothing) {
  for (const PositionModel& model : kModels) {
    for (uint32_t seed = 70; seed <= 75; ++seed) {
      RandomPositions start(model.body, seed);
      const std::vector<int> before = start.positions();
      Positions positions(start.bench.graph(), start.bench.context.plan, start.bench.settings);
      for (const PositionRule& rule : position_rules()) {
        Sweep look(positions, Sweep::Mode::kLook);
        look.run(rule);
        for (const PositionMove& move : look.moves()) EXPECT_STREQ(move.rule->name, rule.name);
        EXPECT_EQ(start.positions(), before) << model.name << ", " << rule.name;
      }
    }
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
