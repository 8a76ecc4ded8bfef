// SPDX-License-Identifier: MIT
// On which samples a result is judged, and what counts as poor or as worth another attempt.
#include <gtest/gtest.h>

#include "compare/tasks.h"
#include "pipeline/report/verify.h"
#include "support/legalize_samples.h"

namespace quarkq::pipeline {
namespace {

class JudgementTest : public ::testing::Test {
 protected:
  Judgement made(double macs = 1e6) {
    Result<Judgement> judgement = make_judgement(request, settings, environment, source, macs);
    EXPECT_TRUE(judgement.ok()) << judgement.status().message();
    return std::move(judgement).value();
  }
  static std::unique_ptr<calib::DataReader> samples(size_t count) {
    static const ir::Model model = test::model_of("g (float[2] x) => (float[2] y) { y = Relu (x) }");
    return std::make_unique<test::RandomSamples>(model.graph, count);
  }
  void calibrate_with(size_t count) { source.samples.opened = samples(count); }

  QuantizeRequest request;
  config::Settings settings;
  exec::Environment environment;
  Source source;
};

TEST_F(JudgementTest, LargeModelsRunOnFewerSamples) {
  calibrate_with(200);
  EXPECT_EQ(made(1e6).numbers.size(), 32u);
  EXPECT_EQ(made(0).numbers.size(), 32u) << "nothing is known of the costs";
  EXPECT_EQ(made(5e9).numbers.size(), 20u);
  EXPECT_EQ(made(1e12).numbers.size(), 8u);
}

TEST_F(JudgementTest, CalibrationSamplesHaveRoles) {
  calibrate_with(100);
  const std::vector<size_t> numbers = made().numbers;
  EXPECT_EQ(numbers, compare::sample_roles(100, 32).judged);
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  EXPECT_EQ(made().numbers, numbers) << "the same samples in every run";
}

TEST_F(JudgementTest, OtherSamplesAreAllOpen) {
  calibrate_with(100);
  source.evaluation.opened = samples(24);
  const Judgement judgement = made();
  EXPECT_EQ(judgement.data, source.evaluation.get());
  EXPECT_EQ(judgement.numbers.size(), 24u) << "nothing was fitted on them";
}

TEST_F(JudgementTest, ANumberOfTheUserIsTaken) {
  calibrate_with(100);
  settings.tool.verify_samples = 50;
  EXPECT_EQ(made(1e12).numbers.size(), 50u);
  settings.tool.verify_samples = 500;
  EXPECT_EQ(made(1e12).numbers.size(), 100u) << "all that there are";
}

TEST_F(JudgementTest, WithoutSamplesNothingIsJudged) {
  const Judgement judgement = made();
  EXPECT_EQ(judgement.data, nullptr);
  EXPECT_TRUE(judgement.numbers.empty());
}

/// One output with these cosines and a task of this grade.
QuantizeReport report_of(double mean, double worst, std::optional<Grade> grade) {
  QuantizeReport report;
  OutputAgreement output{"y", mean, 20, worst, "a", false};
  if (grade) output.task = TaskAgreement{"rows", 0.5, *grade, ""};
  report.outputs = {output};
  return report;
}

TEST(PoorTest, TheTaskCountsUnlessTheUserChoseACosine) {
  struct Row {
    const char* name;
    double mean, worst;
    std::optional<Grade> grade;
    bool is_poor, if_asked;
  };
  const Row rows[] = {
      {"close, no task", 0.99, 0.98, std::nullopt, false, false},
      {"one sample is far, no task", 0.99, 0.8, std::nullopt, true, true},
      {"one sample is far, the task is done", 0.99, 0.8, Grade::kGood, false, true},
      {"close, the task is fair", 0.999, 0.99, Grade::kFair, true, false},
      {"close, the task is poor", 0.999, 0.99, Grade::kPoor, true, false},
      {"too far for any task", 0.85, 0.8, Grade::kGood, true, true},
  };
  for (const Row& row : rows) {
    const QuantizeReport report = report_of(row.mean, row.worst, row.grade);
    EXPECT_EQ(is_poor({.collapse = 0.9}, report), row.is_poor) << row.name;
    EXPECT_EQ(is_poor({.collapse = 0.9, .is_asked = true}, report), row.if_asked) << row.name;
  }
}

TEST(PoorTest, ATaskThatIsNotGoodIsWorthAnAttempt) {
  const ir::Model model = test::model_of("g (float[2] x) => (float[2] y) { y = Relu (x) }");
  const config::Settings settings;
  const auto gains = [&](double mean, std::optional<Grade> grade) {
    return may_gain({.collapse = 0.9}, report_of(mean, mean, grade), settings, model.graph);
  };
  EXPECT_FALSE(gains(0.9999999, std::nullopt));
  EXPECT_FALSE(gains(0.9999999, Grade::kGood));
  EXPECT_TRUE(gains(0.9999999, Grade::kFair));
  EXPECT_TRUE(gains(0.98, Grade::kGood));
}

}  // namespace
}  // namespace quarkq::pipeline
