// SPDX-License-Identifier: MIT
// Bias correction: the mean error of a layer goes, types and outputs stay.
#include "passes/passes.h"
#include "unit/passes/finish_samples.h"

namespace quarkq::passes {
namespace {

/// Conv -> Relu whose stored weight is off by a constant, so that the mean of the result is.
struct BiasBench {
  explicit BiasBench(const std::string& bias, const std::string& make_bias, const std::string& more = "",
                     config::Settings settings = {})
      : original(test::model_of(
            cat("g (float[2, 3, 5, 5] x) => (float[2, 4, 5, 5] y) <float[4, 3, 1, 1] w = ", test::numbers(12, 3),
                ", float[4] b = {3, 3.5, 4, 4.5}> {\n", "[c] c = Conv (x, w, b)\n [r] y = Relu (c)\n}"))),
        bench(test::model_of(
                  cat("g (float[2, 3, 5, 5] x) => (float[2, 4, 5, 5] y) <float[4, 3, 1, 1] w = ", test::numbers(12, 3),
                      ", float e = {0.004}, ", bias, ", float one = {0.01}, ", "int8 zero = {0}> {\n v = Add (w, e)\n",
                      make_bias, "[c] c = Conv (x, v, b)\n", more, " [r] y = Relu (c)\n}")),
              std::move(settings)),
        samples(original.graph, 5, 0, 2) {
    bench.context.float_model = &original;
    bench.context.data = &samples;
  }
  double mean_error() { return std::abs(test::output_difference(original, bench.model, samples).mean); }
  ir::Model original;
  test::PassBench bench;
  test::RandomSamples samples;
};

constexpr const char kFloatBias[] = "float[4] b = {3, 3.5, 4, 4.5}";
constexpr const char kDequantize[] = "b = DequantizeLinear (q, s, z)\n";

TEST(CorrectBiasTest, AddsTheMeanErrorToAFloatBias) {
  BiasBench bias(kFloatBias, "");
  const double before = bias.mean_error();
  EXPECT_GT(before, 0.005);
  EXPECT_TRUE(bias.bench.run(correct_bias));
  EXPECT_LT(bias.mean_error(), 0.02 * before);  // Relu cuts some of it off
  EXPECT_EQ(bias.bench.graph().outputs().size(), 1u);
}

TEST(CorrectBiasTest, KeepsScaleAndTypeOfCodes) {
  for (const char* type : {"int32", "int16"}) {
    BiasBench bias(cat(type, "[4] q = {3000, 3500, 4000, 4500}, float s = {0.001}, ", type, " z = {0}"), kDequantize);
    const ElementType before = bias.bench.graph().constant(bias.bench.value("q"))->type();
    const double error = bias.mean_error();
    EXPECT_TRUE(bias.bench.run(correct_bias));
    EXPECT_LT(bias.mean_error(), 0.0006) << error;
    EXPECT_EQ(bias.bench.graph().constant(bias.bench.value("q"))->type(), before);
    EXPECT_EQ(bias.bench.graph().constant(bias.bench.value("s"))->data<float>()[0], 0.001f);
    EXPECT_FALSE(bias.bench.graph().value(bias.bench.value("c")).is_output);
  }
}

TEST(CorrectBiasTest, Saturates) {
  BiasBench bias("int8[4] q = {-128, 0, 0, 0}, float s = {0.00001}, int8 z = {0}", kDequantize);
  EXPECT_TRUE(bias.bench.run(correct_bias));
  const std::vector<double> codes = ir::to_double(*bias.bench.graph().constant(bias.bench.value("q"))).value();
  for (const double code : codes) {
    EXPECT_GE(code, -128);
    EXPECT_LE(code, 127);
  }
}

TEST(CorrectBiasTest, TheReferenceWritesWideCodesForMinMax) {
  config::Settings settings;
  settings.compat = true;
  const std::string stored = "int8[4] q = {30, 35, 40, 45}, float s = {0.1}, int8 z = {0}";
  settings.calibrate_method = config::CalibrateMethod::kMinMax;
  BiasBench wide(stored, kDequantize, "", settings);
  EXPECT_TRUE(wide.bench.run(correct_bias));
  EXPECT_EQ(wide.bench.graph().constant(wide.bench.value("q"))->type(), ElementType::kInt32);
  settings.calibrate_method = config::CalibrateMethod::kEntropy;
  BiasBench none(stored, kDequantize, "", settings);
  test::expect_idle(none.bench, correct_bias);
  settings.calibrate_method = config::CalibrateMethod::kMinMSE;
  BiasBench same(stored, kDequantize, "", settings);
  EXPECT_TRUE(same.bench.run(correct_bias));
  EXPECT_EQ(same.bench.graph().constant(same.bench.value("q"))->type(), ElementType::kInt8);
}

TEST(CorrectBiasTest, LeavesOutWhatItCannotCompare) {
  BiasBench shared("int32[4] q = {1, 2, 3, 4}, float s = {0.1}, int32 z = {0}", kDequantize, "k = Conv (x, v, b)\n");
  test::expect_idle(shared.bench, correct_bias);
  EXPECT_EQ(test::diagnostic_ids(shared.bench.diagnostics)[0], "bias-not-corrected");
  BiasBench no_samples(kFloatBias, "");
  no_samples.bench.context.data = nullptr;
  test::expect_idle(no_samples.bench, correct_bias);
  BiasBench renamed(kFloatBias, "");
  ir::GraphEdit edit(renamed.original.graph);
  for (const ir::NodeId id : renamed.original.graph.order()) edit.node(id).op = "Relu";
  test::expect_idle(renamed.bench, correct_bias);
}

TEST(CorrectBiasTest, ShrinksALargeCorrection) {
  // Small biases and a large error: the correction is limited to 1/256 of the largest bias.
  BiasBench bias("float[4] b = {-256, 0, 0, 0}", "");
  const std::vector<double> before = {-256, 0, 0, 0};
  EXPECT_TRUE(bias.bench.run(correct_bias));
  const std::vector<double> after = ir::to_double(*bias.bench.graph().constant(bias.bench.value("b"))).value();
  double largest = 0;
  for (size_t i = 0; i < 4; ++i) largest = std::max(largest, std::abs(after[i] - before[i]));
  EXPECT_NEAR(largest, 1.0, 1e-3);
}

}  // namespace
}  // namespace quarkq::passes
