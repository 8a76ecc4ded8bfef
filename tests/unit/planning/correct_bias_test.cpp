// SPDX-License-Identifier: MIT
// Bias correction: the mean error of a layer is removed, types and outputs stay.
#include <limits>

#include "exec/simulate.h"
#include "plan/constant_codes.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

/// How the plan stores the bias {3, 3.5, 4, 4.5}.
struct StoredBias {
  ElementType type = ElementType::kUndefined;  ///< undefined: as floats
  float scale = 0;
  plan::Role role = plan::Role::kBias;
};

/// Conv -> Relu whose stored weight is off by a constant, so that the mean of the result is.
struct BiasBench {
  explicit BiasBench(StoredBias stored, config::Settings settings = {}, const std::string& bias = "{3, 3.5, 4, 4.5}",
                     const std::string& more = "", double weight_error = 0.004)
      : bench(test::model_of(
                  cat("g (float[2, 3, 5, 5] x) => (float[2, 4, 5, 5] y) <float[4, 3, 1, 1] w = ", test::numbers(12, 3),
                      ", float[4] b = ", bias, "> {\n[c] c = Conv (x, w, b)\n", more, " [r] y = Relu (c)\n}")),
              std::move(settings)),
        original(bench.model),
        samples(bench.graph(), 5, 0, 2) {
    bench.context.source.data = &samples;
    bench.context.plan = plan::QuantPlan(bench.graph().value_count());
    bench.context.plan.dedicated_uses.resize(bench.graph().value_count());
    store("w", {ElementType::kInt16, 1e-4f, plan::Role::kWeight}, weight_error);
    if (stored.type != ElementType::kUndefined) store("b", stored, 0);
  }
  void store(const char* name, StoredBias how, double error) {
    plan::QuantSlot& slot = bench.context.plan.add(bench.value(name));
    plan::Stage stage{plan::StageKind::kStored, {}, bench.context.plan.params.add({{how.scale, 0}}), {}};
    stage.spec.type = how.type;
    slot.role = how.role;
    slot.state = plan::SlotState::kCalibrated;
    slot.stage = stage;
    const ir::Tensor& floats = *bench.graph().constant(bench.value(name));
    const numeric::IntegerRange limits = numeric::integer_range(how.type, numeric::RangeKind::kFull);
    std::vector<int32_t> codes;
    for (const float value : floats.data<float>()) {
      const double steps = std::round((value + error) / how.scale);
      codes.push_back(
          static_cast<int32_t>(std::clamp(steps, static_cast<double>(limits.min), static_cast<double>(limits.max))));
    }
    slot.codes = plan::store_codes(codes, how.type, floats.dims());
  }
  double mean_error() {
    const Result<ir::Model> simulated = exec::simulate(bench.model, bench.context.plan);
    EXPECT_TRUE(simulated.ok());
    return std::abs(test::output_difference(original, simulated.value(), samples).mean);
  }
  const plan::QuantSlot& bias() { return bench.context.plan.slot(bench.value("b")); }
  test::PassBench bench;
  ir::Model original;
  test::RandomSamples samples;
};

TEST(CorrectBiasTest, AddsTheMeanErrorToAFloatBias) {
  BiasBench bias({});
  const double before = bias.mean_error();
  EXPECT_GT(before, 0.005);
  const std::string graph = ir::dump(bias.bench.model);
  EXPECT_TRUE(bias.bench.run(correct_bias));
  EXPECT_LT(bias.mean_error(), 0.02 * before);   // Relu cuts some of it off
  EXPECT_EQ(ir::dump(bias.bench.model), graph);  // only the plan changed
  const ir::Tensor written = bias.bench.context.plan.replaced_constants.at(bias.bench.value("b"));
  bias.bench.run(write_qdq);
  EXPECT_TRUE(bias.bench.graph().constant(bias.bench.value("b"))->same_as(written));
}

TEST(CorrectBiasTest, KeepsScaleAndTypeOfCodes) {
  for (const ElementType type : {ElementType::kInt32, ElementType::kInt16}) {
    BiasBench bias({type, 0.001f});
    const double error = bias.mean_error();
    EXPECT_TRUE(bias.bench.run(correct_bias));
    EXPECT_LT(bias.mean_error(), 0.0006) << error;
    EXPECT_EQ(bias.bias().codes->type(), type);
    EXPECT_EQ(bias.bench.context.plan.params[bias.bias().stage.params][0].scale, 0.001f);
  }
}

TEST(CorrectBiasTest, Saturates) {
  BiasBench bias({ElementType::kInt8, 0.00001f}, {}, "{-0.00128, 0, 0, 0}");
  EXPECT_TRUE(bias.bench.run(correct_bias));
  const std::vector<double> codes = ir::to_double(*bias.bias().codes).value();
  for (const double code : codes) {
    EXPECT_GE(code, -128);
    EXPECT_LE(code, 127);
  }
}

TEST(CorrectBiasTest, TheReferenceWritesWideCodesForMinMax) {
  config::Settings settings;
  settings.compat = true;
  const StoredBias stored{ElementType::kInt8, 0.1f, plan::Role::kWeight};
  settings.ranges.calibrate_method = config::CalibrateMethod::kMinMax;
  BiasBench wide(stored, settings);
  EXPECT_TRUE(wide.bench.run(correct_bias));
  EXPECT_EQ(wide.bias().codes->type(), ElementType::kInt32);
  EXPECT_EQ(wide.bias().stage.spec.type, ElementType::kInt32);
  settings.ranges.calibrate_method = config::CalibrateMethod::kEntropy;
  BiasBench none(stored, settings);
  const ir::Tensor before = *none.bias().codes;
  EXPECT_FALSE(none.bench.run(correct_bias));
  EXPECT_TRUE(none.bias().codes->same_as(before));
  settings.ranges.calibrate_method = config::CalibrateMethod::kMinMSE;
  BiasBench same(stored, settings);
  EXPECT_TRUE(same.bench.run(correct_bias));
  EXPECT_EQ(same.bias().codes->type(), ElementType::kInt8);
}

TEST(CorrectBiasTest, LeavesOutWhatItCannotCompare) {
  BiasBench shared({ElementType::kInt32, 0.1f}, {}, "{1, 2, 3, 4}", "k = Conv (x, w, b)\n");
  EXPECT_FALSE(shared.bench.run(correct_bias));
  EXPECT_EQ(test::diagnostic_ids(shared.bench.diagnostics)[0], "bias-skipped");
  BiasBench no_samples({});
  no_samples.bench.context.source.data = nullptr;
  EXPECT_FALSE(no_samples.bench.run(correct_bias));
}

TEST(CorrectBiasTest, LeavesOutErrorsThatAreNotFinite) {
  struct Infinite : calib::DataReader {
    size_t size() const override { return 1; }
    Result<calib::Sample> read(size_t) const override {
      std::vector<float> values(150, 0.0f);  // one channel of each image
      for (const int begin : {0, 75}) std::fill_n(values.begin() + begin, 25, std::numeric_limits<float>::infinity());
      return calib::Sample{"infinite", {ir::Tensor::from<float>({2, 3, 5, 5}, values)}, {}};
    }
  };
  const Infinite infinite;
  BiasBench bias({});
  bias.bench.context.source.data = &infinite;
  EXPECT_FALSE(bias.bench.run(correct_bias));
  EXPECT_EQ(test::diagnostic_ids(bias.bench.diagnostics), std::vector<std::string>{"bias-not-corrected"});
  EXPECT_FALSE(bias.bench.context.plan.replaced_constants.contains(bias.bench.value("b")));
}

TEST(CorrectBiasTest, ShrinksALargeCorrection) {
  // Small biases and a large error: the correction is limited to 1/256 of the largest bias.
  BiasBench bias({}, {}, "{-256, 0, 0, 0}", "", 0.5);
  const std::vector<double> before = {-256, 0, 0, 0};
  EXPECT_TRUE(bias.bench.run(correct_bias));
  const ir::Tensor& corrected = bias.bench.context.plan.replaced_constants.at(bias.bench.value("b"));
  const std::vector<double> after = ir::to_double(corrected).value();
  double largest = 0;
  for (size_t i = 0; i < 4; ++i) largest = std::max(largest, std::abs(after[i] - before[i]));
  EXPECT_NEAR(largest, 1.0, 1e-3);
}

}  // namespace
}  // namespace quarkq::pass_tests
