// SPDX-License-Identifier: MIT
// The smallest scales of weights are enlarged: which become what, and that the values of weights and biases stay.
#include "support/convert_bench.h"

namespace quarkq {
namespace {

using test::ConvertBench;

const char* const kStep = "constrain-weight-scales";

const char* const kSteps = "float[3] bs = {0.1, 0.0001, 0.05}, int32[3] bz = {0, 0, 0}";

/// A Conv of 1 x 1 with three channels. `scales` of the weights; `steps`: scales and zero points of the bias.
std::string conv_of(const std::string& scales, const std::string& steps = kSteps) {
  return cat("g (float[1, 2, 3, 3] x) => (float[1, 3, 3, 3] y) <float xs = {0.1}, int8 xz = {0}, float[3] ws = {",
             scales, "}, int8[3] wz = {0, 0, 0}, int8[3, 2, 1, 1] w = {100, -3, 5, 127, -128, 1}, ", steps,
             ", int32[3] b = {40, 90, -7}> { q = QuantizeLinear (x, xs, xz) d = DequantizeLinear (q, xs, xz)",
             " f = DequantizeLinear <axis = 0> (w, ws, wz) c = DequantizeLinear <axis = 0> (b, bs, bz)",
             " y = Conv (d, f, c) }");
}

const ir::Node& dq_of(const ConvertBench& bench, size_t input) {
  return *bench.graph().producer(bench.node("Conv").input(input));
}

std::vector<double> numbers(const ConvertBench& bench, size_t input, size_t of_dq) {
  return ir::to_double(*bench.graph().constant(dq_of(bench, input).input(of_dq))).value();
}

TEST(ConstrainWeightScalesTest, TheLeastBecomesTheFloor) {
  const struct {
    const char* options;
    double floor;
  } cases[] = {{":min_scale=0.00001,ratio=1000", 1e-5},
               {":min_scale=0.00001,ratio=1000,adaptive=true", 1e-3},
               {":min_scale=0.1,ratio=1000,adaptive=true", 0.1}};
  for (const auto& row : cases) {
    ConvertBench bench(conv_of("1, 1e-12, 0.5", "float[3] bs = {0.1, 1e-13, 0.05}, int32[3] bz = {0, 0, 0}"));
    const ir::Model before = bench.model;
    EXPECT_EQ(bench.run(cat(kStep, row.options)), 1U) << row.options;
    const std::vector<double> scales = numbers(bench, 1, 1), biases = numbers(bench, 2, 1);
    EXPECT_FLOAT_EQ(static_cast<float>(scales[1]), static_cast<float>(row.floor)) << row.options;
    EXPECT_EQ(scales[0], 1);
    EXPECT_EQ(scales[2], 0.5);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(biases[i], scales[i] / 10, 1e-7);
    test::expect_same_outputs(before, bench.model, 1e-6);
  }
}

TEST(ConstrainWeightScalesTest, CodesFollowTheirScale) {
  ConvertBench bench(conv_of("1, 0.001, 0.5"));
  EXPECT_EQ(bench.run(cat(kStep, ":min_scale=0.004,ratio=100")), 1U);
  EXPECT_EQ(numbers(bench, 1, 0), (std::vector<double>{100, -3, 1, 32, -128, 1})) << "5 / 4 and 127 / 4, rounded";
  EXPECT_EQ(numbers(bench, 2, 0), (std::vector<double>{40, 22, -7})) << "90 / 4, a tie that becomes even";
}

TEST(ConstrainWeightScalesTest, TheBiasMayStay) {
  ConvertBench bench(conv_of("1, 0.001, 0.5"));
  EXPECT_EQ(bench.run(cat(kStep, ":min_scale=0.004,ratio=100,adjust_bias=false")), 1U);
  EXPECT_EQ(numbers(bench, 2, 0), (std::vector<double>{40, 90, -7}));
  EXPECT_NEAR(numbers(bench, 2, 1)[1], 0.0001, 1e-9);
}

TEST(ConstrainWeightScalesTest, OtherScalesStay) {
  for (const char* scales :
       {"1, 0.01, 0.5", "1, 0, 0.5", "1, -0.001, 0.5", "inf, 0.001, 0.5", "1, nan, 1e-6", "nan, 1, 1e-6"}) {
    ConvertBench bench(conv_of(scales));
    test::expect_unchanged(bench, cat(kStep, ":min_scale=0.004,ratio=100,adaptive=true"));
  }
}

TEST(ConstrainWeightScalesTest, ABiasThatCannotFollowIsNamed) {
  const struct {
    const char *steps, *reason;
  } cases[] = {
      {"float bs = {0.5}, int32 bz = {0}", "its bias has other channels than its weights"},
      {"float[3] bs = {0.1, 0, 0.1}, int32[3] bz = {0, 0, 0}", "its bias has scales that are not positive"},
      {"float[3] bs = {0.1, nan, 0.1}, int32[3] bz = {0, 0, 0}", "its bias has scales that are not positive"},
      {"float[3] bs = {0.1, 1e38, 0.1}, int32[3] bz = {0, 0, 0}", "its bias has scales that are not positive"}};
  for (const auto& row : cases) {
    ConvertBench bench(conv_of("1, 1e-6, 0.5", row.steps));
    EXPECT_EQ(bench.run(cat(kStep, ":min_scale=0.004,ratio=100")), 1U);
    ASSERT_EQ(bench.left.size(), 1U) << row.steps;
    EXPECT_EQ(bench.left[0].reason.find(row.reason), 0U) << bench.left[0].reason;
    EXPECT_EQ(numbers(bench, 2, 0), (std::vector<double>{40, 90, -7})) << row.steps;
  }
}

TEST(ConstrainWeightScalesTest, OptionsAreChecked) {
  ConvertBench bench(conv_of("1, 1e-6, 0.5"));
  for (const char* options : {":min_scale=0", ":min_scale=-1", ":ratio=0.5"})
    EXPECT_NE(bench.refusal(cat(kStep, options), Code::kInvalidArgument).find("found "), std::string::npos) << options;
}

}  // namespace
}  // namespace quarkq
