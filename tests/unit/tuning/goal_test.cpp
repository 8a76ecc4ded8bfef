// SPDX-License-Identifier: MIT
#include "tuning/goal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace quarkq::tuning {
namespace {

const Scale kShare{"top1", "share", true}, kBits{"bits", "bit", false}, kCommand{"command", "", true};

bool is_met(const std::string& text, const Scale& scale, double value, double float_value) {
  const Result<Goal> goal = Goal::read(text, scale);
  EXPECT_TRUE(goal.ok()) << text;
  return goal.ok() && goal.value().is_met(value, float_value);
}

TEST(GoalTest, DropsOfSharesAreInPoints) {
  EXPECT_TRUE(is_met("drop<=0.5%", kShare, 0.8075, 0.8125));
  EXPECT_FALSE(is_met("drop<=0.5%", kShare, 0.8074, 0.8125));
  EXPECT_TRUE(is_met("drop<=0.005", kShare, 0.8075, 0.8125));
  EXPECT_TRUE(is_met("drop<=0", kShare, 0.9, 0.8125));
}

TEST(GoalTest, OtherDropsInPercentAreOfTheFloatValue) {
  EXPECT_TRUE(is_met("drop<=5%", kBits, 2.1, 2));
  EXPECT_FALSE(is_met("drop<=4%", kBits, 2.1, 2));
  EXPECT_TRUE(is_met("drop<=0.1", kBits, 2.1, 2));
  EXPECT_TRUE(is_met("drop<=5%", kCommand, 19, 20));
}

TEST(GoalTest, ValuesFollowTheDirectionOfTheMetric) {
  EXPECT_TRUE(is_met("value>=0.8", kShare, 0.8, 1));
  EXPECT_TRUE(is_met("top1>=80%", kShare, 0.8, 1));
  EXPECT_FALSE(is_met("value<=1.62", kBits, 1.63, 1));
  EXPECT_FALSE(is_met("value>=0.8", kShare, std::nan(""), 1));
  EXPECT_FALSE(is_met("", kShare, 1, 1));
}

TEST(GoalTest, WithAConfidenceTheWorseEndOfTheIntervalMustMeetIt) {
  Trial trial;
  trial.value = 0.8;
  for (int i = 0; i <= 100; ++i) trial.resamples.draws.push_back(0.75 + 0.001 * i);
  trial.resamples.samples = 100;
  const auto is_sure = [&](const char* text, const Scale& scale, const std::optional<Measure>& float_value) {
    return Goal::read(text, scale).value().is_met_surely(trial, float_value, 0.95);
  };
  EXPECT_TRUE(is_sure("value>=0.75", kShare, std::nullopt));
  EXPECT_FALSE(is_sure("value>=0.76", kShare, std::nullopt));
  EXPECT_TRUE(is_sure("value<=0.85", kBits, std::nullopt));
  EXPECT_FALSE(is_sure("value<=0.84", kBits, std::nullopt));
  Measure same{0.8, trial.resamples};
  EXPECT_TRUE(is_sure("drop<=0%", kShare, same)) << "the differences of paired draws are 0";
  std::ranges::reverse(same.samples.draws);
  EXPECT_FALSE(is_sure("drop<=5%", kShare, same)) << "draws that do not go together";
  EXPECT_TRUE(is_sure("drop<=11%", kShare, same));
  trial.resamples.draws.clear();
  EXPECT_FALSE(is_sure("value>=0.1", kShare, std::nullopt)) << "no interval";
}

TEST(GoalTest, RefusesWhatNoModelCouldMeetOrEveryOne) {
  for (const char* text :
       {"0.8", "drop>=1", "drop<=-1", "drop<=", "drop<=x", "value<=0.8", "top5>=0.8", "value>=nan", "=1"}) {
    const Result<Goal> goal = Goal::read(text, kShare);
    ASSERT_FALSE(goal.ok()) << text;
    EXPECT_NE(goal.status().message().find(cat("found ", text)), std::string::npos) << goal.status().message();
  }
  EXPECT_FALSE(Goal::read("value>=5%", {"psnr", "dB", true}).ok());
}

TEST(ScaleTest, NothingIsWorseThanNotANumber) {
  EXPECT_TRUE(kShare.is_better(0.1, std::nan("")));
  EXPECT_FALSE(kShare.is_better(std::nan(""), 0.1));
  EXPECT_FALSE(kShare.is_better(std::nan(""), std::nan("")));
  EXPECT_TRUE(kBits.is_better(1, 2));
  EXPECT_FALSE(kBits.is_better(2, 2));
}

}  // namespace
}  // namespace quarkq::tuning
