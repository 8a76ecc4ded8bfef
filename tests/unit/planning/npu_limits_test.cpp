// SPDX-License-Identifier: MIT
// Every limit is found where it is violated, and only there.
#include "planning/constrain/npu_limits.h"

#include "support/npu_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// A planned model with these positions; findings as "rule tensor found low..high".
std::vector<std::string> findings(const std::string& body, const std::map<std::string, int>& positions) {
  PassBench bench(test::model_of(body), test::settings_for("XINT8", {"QuantizeAllOpTypes=true"}));
  test::run_phases(bench, {"select", "mark"});
  for (const auto& [name, position] : positions) {
    bench.context.plan.params.set(bench.context.plan.slot(bench.value(name)).stage.params,
                                  {{numeric::scale_of_position(position), 0}});
  }
  std::vector<std::string> lines;
  for (const NpuFinding& one : npu_findings(bench.graph(), bench.context.plan, bench.settings)) {
    EXPECT_FALSE(one.remedy.empty());
    lines.push_back(cat(one.rule, " ", one.tensor, " ", one.measure, " ", one.found, " ",
                        one.allowed ? cat(one.allowed->first, "..", one.allowed->second) : "-"));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(NpuLimitsTest, Alignment) {
  const std::string concat = "g (float[2] a, float[2] b) => (float[4] y) { y = Concat <axis = 0> (a, b) }";
  EXPECT_EQ(findings(concat, {{"a", 4}, {"b", 4}, {"y", 4}}), Lines{});
  EXPECT_EQ(findings(concat, {{"a", 6}, {"b", 4}, {"y", 5}}),
            (Lines{"align_concat y position 5 4..4", "align_concat a position 6 4..4"}));
  const std::string pool =
      "g (float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) { y = AveragePool <kernel_shape = [2, 2]> (x) }";
  EXPECT_EQ(findings(pool, {{"x", 7}, {"y", 5}}), Lines{"align_pool x position 7 5..5"});
  const std::string slice =
      "g (float[4] x) => (float[2] y) <int64[1] s = {0}, int64[1] e = {2}> { y = Slice (x, s, e) }";
  EXPECT_EQ(findings(slice, {{"x", 3}, {"y", 5}}), Lines{"align_slice y position 5 3..3"});
}

TEST(NpuLimitsTest, WeightsAndActivationsHaveEightBits) {
  PassBench bench(
      test::model_of("g (float[1, 2] x) => (float[1, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[2] b = {1, 2}> "
                     "{ y = Gemm (x, w, b) }"),
      test::settings_for("XINT8"));
  test::run_phases(bench, {"select", "mark"});
  for (plan::QuantSlot& slot : bench.context.plan.slots())
    bench.context.plan.params.set(slot.stage.params, {{0.5f, 0}});
  const auto limits = [&] {
    std::vector<std::string> lines;
    for (const NpuFinding& one : npu_findings(bench.graph(), bench.context.plan, bench.settings)) {
      if (one.rule == "eight_bits") lines.push_back(cat(one.tensor, " ", one.found));
    }
    return lines;
  };
  EXPECT_EQ(limits(), std::vector<std::string>{});
  bench.context.plan.slot(bench.value("w")).stage.spec.type = ElementType::kInt4;
  bench.context.plan.slot(bench.value("x")).stage.spec.type = ElementType::kUInt16;
  plan::QuantSlot& bias = bench.context.plan.slot(bench.value("b"));
  bias.role = plan::Role::kBias;
  bias.stage.spec.type = ElementType::kInt32;
  EXPECT_EQ(limits(), (std::vector<std::string>{"x 16", "w 4"}));
}

TEST(NpuLimitsTest, ShiftsOfAddAndMul) {
  const std::string add = "g (float[2] a, float[2] b) => (float[2] y) { y = Add (a, b) }";
  EXPECT_EQ(findings(add, {{"a", 10}, {"b", 3}, {"y", 10}}), Lines{});
  EXPECT_EQ(findings(add, {{"a", 12}, {"b", 3}, {"y", 4}}), Lines{"adjust_shift_read a shift_read 9 0..7"});
  EXPECT_EQ(findings(add, {{"a", 2}, {"b", 3}, {"y", 11}}), Lines{"adjust_shift_write y shift_write -9 -7..25"});
  const std::string mul = "g (float[2] a, float[2] b) => (float[2] y) { y = Mul (a, b) }";
  EXPECT_EQ(findings(mul, {{"a", 2}, {"b", 3}, {"y", 7}}), Lines{"adjust_shift_write y shift_write -2 0..32"});
}

TEST(NpuLimitsTest, ShiftsOfConv) {
  const std::string conv =
      "g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) "
      "<float[1, 1, 1, 1] w = {1}, float[1] b = {1}> { y = Conv (x, w, b) }";
  EXPECT_EQ(findings(conv, {{"x", 5}, {"w", 8}, {"b", 12}, {"y", 6}}), Lines{});
  EXPECT_EQ(findings(conv, {{"x", 2}, {"w", 3}, {"b", 5}, {"y", 7}}), Lines{"adjust_shift_cut w shift_cut -2 0..16"});
  EXPECT_EQ(findings(conv, {{"x", 8}, {"w", 10}, {"b", 1}, {"y", 4}}),
            Lines{"adjust_shift_bias b shift_bias 17 -2..15"});
}

TEST(NpuLimitsTest, HardSigmoidAndSwish) {
  const std::string swish =
      "g (float[2] x) => (float[2] y) { s = HardSigmoid <alpha = 0.16666667> (x) y = Mul (x, s) }";
  EXPECT_EQ(findings(swish, {{"x", 5}, {"s", 7}, {"y", 5}}), Lines{});
  EXPECT_EQ(findings(swish, {{"x", 4}, {"s", 5}, {"y", 5}}), Lines{"adjust_hard_sigmoid s output position 5 7..18"});
  EXPECT_EQ(findings(swish, {{"x", 12}, {"s", 8}, {"y", 3}}), Lines{"adjust_shift_swish y shift_swish 17 0..15"});
}

TEST(NpuLimitsTest, OtherScales) {
  PassBench bench(test::model_of("g (float[2] x) => (float[2] y) { y = Sigmoid (x) }"), test::settings_for("XINT8"));
  test::run_phases(bench, {"select", "mark"});
  test::fill_parameters(bench.graph(), bench.context.plan);
  EXPECT_TRUE(npu_findings(bench.graph(), bench.context.plan, bench.settings).empty());
  bench.context.plan.params.set(bench.context.plan.slot(bench.value("x")).stage.params, {{0.3f, 0}});
  const std::vector<NpuFinding> found = npu_findings(bench.graph(), bench.context.plan, bench.settings);
  ASSERT_GE(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "power_of_two");
  EXPECT_FALSE(found[0].allowed.has_value());
}

}  // namespace
}  // namespace quarkq::pass_tests
