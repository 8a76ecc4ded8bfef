// SPDX-License-Identifier: MIT
// Samples that contradict the model: what a normalization was trained on, biases without one, and what is said.
#include "pipeline/run/plausible_inputs.h"

#include <cmath>
#include <random>

#include "support/pass_support.h"

namespace quarkq::pipeline {
namespace {

/// Images of noise: each value is `level` plus a normal deviate times `deviation`.
class NoiseReader : public calib::DataReader {
 public:
  NoiseReader(double level, double deviation) : level_(level), deviation_(deviation) {}
  size_t size() const override { return 6; }
  Result<calib::Sample> read(size_t index) const override {
    std::mt19937 generator(static_cast<uint32_t>(index + 1));
    std::normal_distribution<double> distribution(level_, deviation_);
    ir::Tensor image = ir::Tensor::zeros(ElementType::kFloat, {1, 3, 16, 16});
    for (float& value : image.mutable_data<float>()) value = static_cast<float>(distribution(generator));
    return calib::Sample{cat("s", index), {image}, {}};
  }

 private:
  double level_, deviation_;
};

/// What is said of such images for a model whose first layer passes each channel on, times `gain`.
std::vector<Diagnostic> said(const std::string& rest, const std::string& weights, double level, double deviation) {
  const ir::Model model =
      test::model_of(cat("g (float[1,3,16,16] x) => (float[1,3,16,16] y) <float[3,3,1,1] w = {1,0,0, 0,1,0, 0,0,1}",
                         weights, "> { ", rest, " }"));
  const std::vector<calib::InputSpec> specs = calib::input_specs(model.graph);
  const calib::ObservedReader samples(std::make_unique<NoiseReader>(level, deviation), specs);
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_TRUE(samples.read(i).ok());
  Diagnostics diagnostics;
  check_plausible(model, {}, samples, diagnostics);
  return diagnostics.all();
}

/// Trained on inputs of this variance.
std::vector<Diagnostic> of_trained(double variance, double level, double deviation) {
  const std::string v = cat(variance, ", ", variance, ", ", variance);
  return said("c = Conv (x, w) n = BatchNormalization (c, one, one, one, v) y = Relu (n)",
              cat(", float[3] one = {1, 1, 1}, float[3] v = {", v, "}"), level, deviation);
}

TEST(PlausibleInputsTest, TrainingDeviationsAreCompared) {
  struct Row {
    double variance, level, deviation;
    bool is_plausible;
  };
  const Row rows[] = {
      {1, 0, 1, true},         {1, 0, 2, true},   {1, 0, 0.5, true},
      {1, 0, 50, false},        // pixels of 0..255 where units were trained
      {3000, 0.5, 0.2, false},  // units where pixels were
      {3000, 120, 55, true},   {1, 0, 3.5, true}, {1, 0, 4.5, false},
  };
  for (const Row& row : rows) {
    const std::vector<Diagnostic> found = of_trained(row.variance, row.level, row.deviation);
    SCOPED_TRACE(cat("variance ", row.variance, ", deviation ", row.deviation));
    ASSERT_EQ(found.empty(), row.is_plausible);
    if (row.is_plausible) continue;
    EXPECT_EQ(found[0].id, "implausible-input");
    EXPECT_EQ(found[0].subject, "x");
    EXPECT_NE(found[0].text.find("trained on inputs with a deviation of about"), std::string::npos) << found[0].text;
    EXPECT_NE(found[0].text.find("recipe"), std::string::npos) << found[0].text;
  }
}

/// The deviation that is named is that of the training, whatever the samples are.
TEST(PlausibleInputsTest, TheExpectedDeviationIsNamed) {
  for (const double deviation : {50.0, 500.0}) {
    const std::vector<Diagnostic> found = of_trained(4, 0, deviation);
    ASSERT_EQ(found.size(), 1u);
    const size_t at = found[0].text.find("of about ");
    ASSERT_NE(at, std::string::npos) << found[0].text;
    EXPECT_NEAR(std::stod(found[0].text.substr(at + 9)), 2, 0.1) << found[0].text;
  }
}

TEST(PlausibleInputsTest, BiasesWithoutANormalizationAreEvidence) {
  const auto of_biases = [](const char* biases, double level, double deviation) {
    return said("c = Conv (x, w, b) y = Clip (c, low, six)",
                cat(", float[3] b = {", biases, "}, float low = {0}, float six = {6}"), level, deviation);
  };
  EXPECT_TRUE(of_biases("0.5, -0.7, 1", 0, 1).empty());
  const std::vector<Diagnostic> large = of_biases("0.5, -0.7, 1", 128, 60);
  ASSERT_EQ(large.size(), 1u);
  EXPECT_NE(large[0].text.find("suit far smaller values"), std::string::npos) << large[0].text;
  const std::vector<Diagnostic> small = of_biases("50, -70, 100", 0, 0.2);
  ASSERT_EQ(small.size(), 1u);
  EXPECT_NE(small[0].text.find("suit inputs of about 70, which is far larger"), std::string::npos) << small[0].text;
  EXPECT_TRUE(of_biases("0.01, -0.02, 0.01", 128, 30).empty()) << "small biases are no evidence";
}

TEST(PlausibleInputsTest, NoConventionGoesBeyondPixels) {
  const std::vector<Diagnostic> found =
      said("c = Conv (x, w, b) y = Relu (c)", ", float[3] b = {0.01, 0.01, 0.01}", 1000, 300);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].text.find("outside of 0..255"), std::string::npos) << found[0].text;
}

TEST(PlausibleInputsTest, WithoutALayerThereIsNoEvidence) {
  EXPECT_TRUE(said("y = Relu (x)", "", 0, 1e6).empty());
  EXPECT_TRUE(said("a = Mul (x, x) c = Conv (a, w) y = Relu (c)", "", 0, 50).empty());
}

calib::InputSummary summary(const char* name, ElementType type, double least, double most) {
  calib::InputSummary made;
  made.name = name;
  made.type = type;
  made.samples = 3;
  made.least = least;
  made.most = most;
  return made;
}

TEST(SampleCautionsTest, RandomFewAndConstantSamples) {
  const calib::InputSummary good = summary("x", ElementType::kFloat, 0, 1),
                            flat = summary("z", ElementType::kFloat, 2, 2),
                            index = summary("i", ElementType::kInt64, 5, 5);
  struct Row {
    std::vector<calib::InputSummary> inputs;
    size_t samples;
    bool is_random;
    std::vector<std::string> said;
  };
  const Row rows[] = {
      {{good}, 8, false, {}},
      {{good}, 0, false, {}},
      {{good}, 7, false, {"only 7 samples, fewer than 8"}},
      {{good}, 1, false, {"only 1 sample, fewer than 8"}},
      {{good}, 1, true, {"random data: the ranges describe noise and are suitable only for experiments"}},
      {{flat}, 9, false, {"all values of input z are 2: ranges are meaningless"}},
      {{flat, index}, 9, false, {"all values of input z are 2: ranges are meaningless"}},
      {{flat, good}, 9, false, {}},  // one that moves is enough
      {{index}, 9, false, {}},       // integers have no range
      {{flat},
       3,
       true,
       {"random data: the ranges describe noise and are suitable only for experiments",
        "all values of input z are 2: ranges are meaningless"}},
  };
  for (const Row& row : rows) EXPECT_EQ(sample_cautions(row.inputs, row.samples, row.is_random), row.said);
}

TEST(SampleCautionsTest, ReportsKeepWhatWasSeen) {
  calib::InputSummary one = summary("x", ElementType::kFloat16, -1, 3);
  one.dims = {1, -1, 4};
  one.mean = {0.5, 1};
  one.deviation = {2, 3};
  const std::vector<InputReport> reports = input_reports({one});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].name, "x");
  EXPECT_EQ(reports[0].samples, 3u);
  EXPECT_EQ(reports[0].mean, one.mean);
  EXPECT_EQ(reports[0].deviation, one.deviation);
  EXPECT_EQ(std::vector<int64_t>(reports[0].shape.begin(), reports[0].shape.end()), one.dims);
}

}  // namespace
}  // namespace quarkq::pipeline
