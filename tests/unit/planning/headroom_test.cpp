// SPDX-License-Identifier: MIT
// Headroom of ranges after few samples: how much, up to which bounds, and when there is none.
#include "planning/calibrate/measured_ranges.h"

#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

/// Samples of one value each, scaled per sample: extremes that spread.
class ScaledSamples : public calib::DataReader {
 public:
  explicit ScaledSamples(std::vector<float> scales) : scales_(std::move(scales)) {}
  size_t size() const override { return scales_.size(); }
  Result<calib::Sample> read(size_t index) const override {
    ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, {4});
    const float scale = scales_[index];
    const float values[] = {-0.5f * scale, 0.25f * scale, scale, 0.125f * scale};
    std::ranges::copy(values, tensor.mutable_data<float>().begin());
    return calib::Sample{cat("s", index), {std::move(tensor)}, {}};
  }

 private:
  std::vector<float> scales_;
};

const char* const kBody =
    "g (float[4] x) => (float[4] y, float[4] z) <float low = {0}, float high = {12}> "
    "{ n = Neg (x) a = Neg (n) s = Sigmoid (a) c = Clip (a, low, high) r = Relu (a) y = Mul (s, c) z = Neg (r) }";

struct Calibrated {
  Calibrated(std::vector<float> scales, const std::vector<std::string>& sets = {}, const std::string& preset = "A8W8")
      : bench(test::model_of(kBody), settings(preset, sets)), samples(std::move(scales)) {
    bench.context.source.data = &samples;
    std::vector<PassTime> times;
    const Status status = pipeline::run_passes(bench.context, {.until = Phase::kRestructure}, times, {});
    EXPECT_TRUE(status.ok()) << status.message();
  }

  static config::Settings settings(const std::string& preset, std::vector<std::string> sets) {
    sets.insert(sets.end(), {"QuantizeAllOpTypes=true", "SimplifyModel=false", "OptimizeModel=false"});
    return test::settings_for(preset, sets);
  }
  numeric::Range range(const std::string& name) const { return *bench.context.plan.slot(bench.value(name)).range; }
  bool says_so() const {
    return std::ranges::any_of(bench.diagnostics.all(), [](const auto& one) { return one.id == "guard-few-samples"; });
  }

  test::PassBench bench;
  ScaledSamples samples;
};

const std::vector<float> kSpread = {4, 6, 5, 10, 7, 3, 8, 5};  // mean 6, standard deviation 2.268
constexpr float kExpected = 12.12807f;                         // 6 + 2.268 sqrt(6) / pi * ln 32

TEST(HeadroomTest, ReachesTheExpectedExtremeOf32Samples) {
  const Calibrated made(kSpread);
  EXPECT_NEAR(made.range("a").max, kExpected, 1e-3);
  EXPECT_NEAR(made.range("a").min, -kExpected / 2, 1e-3);
  EXPECT_FLOAT_EQ(made.range("r").min, 0);
  EXPECT_NEAR(made.range("r").max, kExpected, 1e-3);
  EXPECT_TRUE(made.says_so());
}

TEST(HeadroomTest, StaysWithinWhatOperatorsGive) {
  const Calibrated made(kSpread);
  EXPECT_LE(made.range("s").max, 1);
  EXPECT_FLOAT_EQ(made.range("c").max, 12);
  EXPECT_FLOAT_EQ(made.range("x").max, 10) << "inputs are data of one kind";
}

TEST(HeadroomTest, IsAtMostHalfOfTheRange) {
  const Calibrated made({1, 30});
  EXPECT_FLOAT_EQ(made.range("a").max, 45);
}

TEST(HeadroomTest, EqualSamplesAndManySamplesNeedNone) {
  const Calibrated equal(std::vector<float>(8, 5.0f));
  EXPECT_FLOAT_EQ(equal.range("a").max, 5);
  EXPECT_FALSE(equal.says_so());
  std::vector<float> many;
  for (int i = 0; i < 4; ++i) many.insert(many.end(), kSpread.begin(), kSpread.end());
  EXPECT_FLOAT_EQ(Calibrated(many).range("a").max, 10);
}

TEST(HeadroomTest, SixteenBitsSpareOne) {
  EXPECT_FLOAT_EQ(Calibrated(kSpread, {}, "A16W8").range("a").max, 20);
  EXPECT_FLOAT_EQ(Calibrated(kSpread, {}, "A16W8").range("c").max, 12);
}

TEST(HeadroomTest, OthersDecideForThemselves) {
  EXPECT_FLOAT_EQ(Calibrated(kSpread, {"quarkq.guards=off"}).range("a").max, 10);
  EXPECT_FLOAT_EQ(Calibrated(kSpread, {"quarkq.compat=quark-0.13"}).range("a").max, 10);
  EXPECT_FLOAT_EQ(Calibrated(kSpread, {"quarkq.range_headroom=1"}).range("a").max, 10);
  EXPECT_FLOAT_EQ(Calibrated(kSpread, {"quarkq.range_headroom=1.25"}).range("a").max, 12.5);
  EXPECT_FALSE(Calibrated(kSpread, {}, "XINT8").says_so()) << "MinMSE";
}

}  // namespace
}  // namespace quarkq::pass_tests
