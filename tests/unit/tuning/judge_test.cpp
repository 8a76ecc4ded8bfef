// SPDX-License-Identifier: MIT
#include "tuning/goal.h"

#include <gtest/gtest.h>

#include "unit/base/temp_folder.h"

namespace quarkq::tuning {
namespace {

TuneRequest request(const std::vector<std::string>& metrics, const std::string& command = "") {
  TuneRequest request;
  request.eval_folder = "samples";
  request.metric.names = metrics, request.metric.command = command;
  request.metric.truth_path = "labels.csv";
  return request;
}

std::string refusal(const TuneRequest& asked) {
  const Result<Judge> judge = Judge::make(asked);
  EXPECT_FALSE(judge.ok());
  if (judge.ok()) return "";
  EXPECT_EQ(judge.status().code(), Code::kInvalidArgument);
  return judge.status().message();
}

TEST(JudgeTest, TakesTheDirectionAndTheUnitFromTheTableOfMetrics) {
  const Judge top = Judge::make(request({"top5"})).value();
  EXPECT_EQ(top.scale().name, "top5");
  EXPECT_EQ(top.scale().unit, "share");
  EXPECT_TRUE(top.scale().higher_is_better && !top.compares());
  const Judge distance = Judge::make(request({"l2"})).value();
  EXPECT_TRUE(!distance.scale().higher_is_better && distance.compares());
}

TEST(JudgeTest, ACommandsDirectionIsTheUsers) {
  TuneRequest asked = request({}, "score {results}");
  EXPECT_TRUE(Judge::make(asked).value().scale().higher_is_better);
  asked.lower_is_better = true;
  EXPECT_FALSE(Judge::make(asked).value().scale().higher_is_better);
  EXPECT_EQ(Judge::make(asked).value().scale().name, kCommandMetric);
}

TEST(JudgeTest, AFunctionComparesAndItsTrialsAreNotKept) {
  TuneRequest asked = request({});
  asked.metric.function = [](size_t, const std::vector<SampleTensor>&, const std::vector<SampleTensor>&) {
    return Result<double>(1.0);
  };
  const Judge judge = Judge::make(asked).value();
  EXPECT_EQ(judge.scale().name, kFunctionMetric);
  EXPECT_TRUE(judge.compares() && judge.scale().higher_is_better);
  asked.lower_is_better = true;
  EXPECT_FALSE(Judge::make(asked).value().scale().higher_is_better);
  asked.state_folder = "trials";
  EXPECT_NE(refusal(asked).find("found a state folder, trials"), std::string::npos);
  asked.state_folder.clear();
  asked.metric.names = {"top1"};
  EXPECT_NE(refusal(asked).find("found 2 metrics"), std::string::npos);
}

TEST(JudgeTest, NeedsOneMetricItsTruthAndSamples) {
  EXPECT_NE(refusal(request({})).find("found 0 metrics, allowed is one"), std::string::npos);
  EXPECT_NE(refusal(request({"top1"}, "score")).find("found 2 metrics"), std::string::npos);
  EXPECT_NE(refusal(request({"top"})).find("--metric: found top"), std::string::npos);
  TuneRequest asked = request({"top1"});
  asked.metric.truth_path.clear();
  EXPECT_NE(refusal(asked).find("--metric top1 needs --labels, labels"), std::string::npos);
  asked = request({"cosine"});
  asked.eval_folder.clear();
  EXPECT_NE(refusal(asked).find("needs --eval DIR"), std::string::npos);
}

TEST(JudgeTest, ATrialReplacesTheBestBeyondNoiseOrIfItIsCheaper) {
  const Judge judge = Judge::make(request({"top1"})).value();
  Trial best;
  best.value = 0.75, best.bytes = 1000, best.wide_macs = 0.1;
  Trial trial = best;
  EXPECT_FALSE(judge.replaces(trial, best)) << "equal";
  trial.value = 0.76;
  EXPECT_TRUE(judge.replaces(trial, best)) << "without draws the value counts";
  trial.gain = ScoreDifference{0.01, {-0.01, 0.03}};
  EXPECT_FALSE(judge.replaces(trial, best)) << "within noise";
  trial.gain = ScoreDifference{0.01, {0.002, 0.03}};
  EXPECT_TRUE(judge.replaces(trial, best));
  trial.gain->mcnemar = 0.125;
  EXPECT_FALSE(judge.replaces(trial, best)) << "four samples against none";
  trial.wide_macs = 0.05;
  EXPECT_TRUE(judge.replaces(trial, best)) << "cheaper, and not worse";
  trial.bytes = 1100;
  EXPECT_FALSE(judge.replaces(trial, best)) << "larger";
  trial.bytes = 900, trial.wide_macs = 0.1, trial.value = 0.74;
  EXPECT_FALSE(judge.replaces(trial, best)) << "smaller, but worse";
  trial.value = 0.75;
  EXPECT_TRUE(judge.replaces(trial, best));
  trial.bytes = 995;
  EXPECT_FALSE(judge.replaces(trial, best)) << "sizes differ by some bytes without a reason";
  trial.deployable = {"x1", Deployability::Holds::kNo, "why", "", 0, 9, 0};
  trial.bytes = 100;
  EXPECT_FALSE(judge.replaces(trial, best));
  EXPECT_TRUE(judge.replaces(best, trial)) << "the target accepts it";
}

TEST(JudgeTest, AModelThatIsNotThereIsNamed) {
  const test::TempFolder folder;
  TuneRequest asked = request({"cosine"});
  asked.model_path = folder / "none.onnx", asked.config = "xint8", asked.calib_folder = folder.path();
  const Judge judge = Judge::make(asked).value();
  const auto go_on = [](const Progress&) { return true; };
  const Result<Trial> trial = judge.try_settings({"quarkq.on_collapse=warn"}, folder / "out.onnx", go_on);
  ASSERT_FALSE(trial.ok());
  EXPECT_NE(trial.status().message().find("none.onnx"), std::string::npos) << trial.status().message();
  EXPECT_EQ(folder.names(), std::vector<std::string>());
}

}  // namespace
}  // namespace quarkq::tuning
