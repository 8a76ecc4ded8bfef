// SPDX-License-Identifier: MIT
// The caller's own figure: what may be required of it, which samples it sees, and when a run fails by it.
#include "pipeline/report/verify.h"

#include <cmath>

#include "support/legalize_samples.h"

namespace quarkq::pipeline {
namespace {

TEST(RequiredMetricTest, TheStrictestCountsAndOthersAreLeft) {
  EXPECT_FALSE(required_metric({}).value().has_value());
  EXPECT_FALSE(required_metric({"cos>=0.9"}).value().has_value());
  EXPECT_EQ(required_metric({"metric>=-3", "cos>=0.9", "metric>=-1.5e1"}).value(), -3.0);
  EXPECT_EQ(required_metric({"metric>=1e9"}).value(), 1e9);
}

TEST(RequiredMetricTest, NeedsANumber) {
  for (const char* text : {"metric>=", "metric>=x", "metric>=1x", "metric>=1 ", "metric>=inf", "metric>=nan",
                           "metric>=+1", "metric>=1e999"}) {
    const auto refused = required_metric({text});
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(refused.status().message(), cat("--require ", text, ": allowed is metric>=X with a number X"));
  }
}

TEST(ViewsTest, ShowTensorsWithoutCopies) {
  const ir::Tensor tensor = ir::Tensor::from<int16_t>({2, 3}, std::vector<int16_t>(6, 7));
  const SampleTensor view = view_of("y", tensor).value();
  EXPECT_EQ(view.name, "y");
  EXPECT_EQ(view.type, "INT16");
  EXPECT_EQ(view.dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(view.data, tensor.raw());
  EXPECT_EQ(view.bytes, 12u);
  EXPECT_EQ(view_of("y", ir::Tensor::zeros(ElementType::kInt4, {3})).value().bytes, 2u);
  EXPECT_EQ(view_of("y", ir::Tensor::of_strings({1}, {"a"})).status().code(), Code::kUnsupported);
}

class JudgeByMetricTest : public ::testing::Test {
 protected:
  Status judge(const std::string& requirement = "") {
    if (!requirement.empty()) request.requirements = {requirement};
    return judge_by_metric(request, {float_model, float_model}, other, judgement, report);
  }

  ir::Model float_model = test::model_of("g (float[2] x) => (float[2] y) { y = Relu (x) }");
  ir::Model other = test::model_of("g (float[2] x) => (float[2] y) { n = Neg (x) y = Relu (n) }");
  test::RandomSamples samples{float_model.graph, 20};
  Judgement judgement{.data = &samples, .numbers = compare::spread_samples(20, 4), .collapse = 0, .required = {}};
  QuantizeRequest request;
  QuantizeReport report;
};

TEST_F(JudgeByMetricTest, IsTheMeanOverTheSamplesCompared) {
  std::vector<size_t> seen;
  request.metric = [&](size_t sample, const std::vector<SampleTensor>& expected,
                       const std::vector<SampleTensor>& found) -> Result<double> {
    seen.push_back(sample);
    EXPECT_EQ(expected.size(), 1u);
    EXPECT_EQ(found[0].name, "y");
    const float x = samples.read(sample).value().inputs[0].data<float>()[0];
    EXPECT_EQ(static_cast<const float*>(expected[0].data)[0], std::max(x, 0.0f));
    EXPECT_EQ(static_cast<const float*>(found[0].data)[0], std::max(-x, 0.0f));
    return static_cast<double>(sample);
  };
  ASSERT_TRUE(judge().ok());
  EXPECT_EQ(seen, compare::spread_samples(20, 4));
  double sum = 0;
  for (const size_t number : seen) sum += static_cast<double>(number);
  EXPECT_EQ(report.metric, sum / 4);
}

TEST_F(JudgeByMetricTest, ARequirementThatIsMissedFailsTheRun) {
  double value = 0.5;
  request.metric = [&](size_t, const auto&, const auto&) -> Result<double> { return value; };
  EXPECT_TRUE(judge("metric>=0.5").ok());
  const Status missed = judge("metric>=0.75");
  EXPECT_EQ(missed.code(), Code::kQualityGate);
  EXPECT_EQ(missed.message(), "metric: found 0.5, required is 0.75");
  value = NAN;
  EXPECT_EQ(judge("metric>=-1e300").code(), Code::kQualityGate) << "NaN meets no requirement";
}

TEST_F(JudgeByMetricTest, ItsErrorEndsTheRun) {
  request.metric = [](size_t, const auto&, const auto&) -> Result<double> { return bad_data("no labels"); };
  EXPECT_EQ(judge().message(), "no labels");
  EXPECT_FALSE(report.metric.has_value());
}

TEST_F(JudgeByMetricTest, WithoutSamplesARequirementCannotBeMet) {
  judgement.data = nullptr;
  request.metric = [](size_t, const auto&, const auto&) -> Result<double> { return 1.0; };
  EXPECT_TRUE(judge().ok());
  EXPECT_EQ(judge("metric>=0").code(), Code::kQualityGate);
  request.metric = {};
  EXPECT_TRUE(judge().ok()) << "without a metric there is nothing to judge by";
}

}  // namespace
}  // namespace quarkq::pipeline
