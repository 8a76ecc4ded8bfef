// SPDX-License-Identifier: MIT
// Error bars of scores: coverage, pairs, shares without spread, gates, and the time that the draws take.
#include "compare/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "exec/environment.h"

namespace quarkq::compare {
namespace {

SampledScore share_of(const std::string& hits) {
  std::vector<Parts> samples;
  for (const char hit : hits) samples.push_back({hit == '1' ? 1.0 : 0.0, 1});
  return ratio_of(std::move(samples));
}

SampledScore mean_of(const std::vector<double>& values) {
  std::vector<Parts> samples;
  samples.reserve(values.size());
  for (const double value : values) samples.push_back({value, 1});
  return ratio_of(std::move(samples));
}

std::string hits_of(size_t right, size_t all) { return std::string(right, '1') + std::string(all - right, '0'); }

struct Score {
  double value = 0;
  Resamples samples;
  std::optional<Interval> interval;
};

Score measured(const SampledScore& score, size_t samples, double confidence = kConfidence) {
  Score found{score.once(samples), resample(score, samples), {}};
  found.interval = interval_of(found.samples, found.value, confidence);
  return found;
}

TEST(IntervalsTest, AShareHasTheWidthOfTheBinomialDistribution) {
  const Score found = measured(share_of(hits_of(144, 192)), 192);
  EXPECT_EQ(found.value, 0.75);
  const double half = 1.96 * std::sqrt(0.75 * 0.25 / 192);
  EXPECT_NEAR(found.interval->low, 0.75 - half, 0.012);
  EXPECT_NEAR(found.interval->high, 0.75 + half, 0.012);
  const Interval narrow = *measured(share_of(hits_of(144, 192)), 192, 0.8).interval;
  EXPECT_LT(found.interval->low, narrow.low);
  EXPECT_GT(found.interval->high, narrow.high);
}

TEST(IntervalsTest, NineteenOfTwentyContainTheTruth) {
  std::mt19937 generator(7);
  std::normal_distribution<double> distribution(3, 1);
  for (const size_t count : {4u, 10u, 100u}) {
    size_t inside = 0;
    constexpr size_t kRuns = 400;
    for (size_t run = 0; run < kRuns; ++run) {
      std::vector<double> values(count);
      for (double& value : values) value = distribution(generator);
      const Interval found = *measured(mean_of(values), count).interval;
      inside += found.low <= 3 && found.high >= 3 ? 1 : 0;
    }
    const double share = static_cast<double>(inside) / kRuns;
    EXPECT_GE(share, count == 4 ? 0.85 : 0.92) << count;  // 4 values cannot be drawn further out than their extremes
    EXPECT_LE(share, 0.98) << count;
  }
}

TEST(IntervalsTest, DrawsDependOnTheNumberOfSamplesOnly) {
  const SampledScore first = mean_of({1, 2, 3, 4, 5}), second = mean_of({2, 3, 4, 5, 6});
  const Resamples once = resample(first, 5), again = resample(first, 5);
  EXPECT_EQ(once.draws, again.draws);
  exec::set_threads(1);
  EXPECT_EQ(resample(first, 5).draws, once.draws) << "one thread";
  exec::set_threads(0);
  const SampledScore both[] = {first, second};
  const std::vector<Resamples> drawn = resample(both, 5);
  EXPECT_EQ(drawn[0].draws, once.draws);
  for (size_t i = 0; i < drawn[0].draws.size(); ++i) EXPECT_NEAR(drawn[1].draws[i] - drawn[0].draws[i], 1, 1e-12);
}

TEST(IntervalsTest, PairsAreNarrowerThanBothSides) {
  std::mt19937 generator(3);
  std::normal_distribution<double> distribution(0, 1);
  std::vector<double> first(200), second(200);
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] = distribution(generator);
    second[i] = first[i] + 0.05 + 0.01 * distribution(generator);
  }
  const Score one = measured(mean_of(first), 200), other = measured(mean_of(second), 200);
  EXPECT_LT(other.interval->low, one.interval->high) << "alone they cannot be told apart";
  const ScoreDifference difference = *difference_of({one.value, one.samples}, {other.value, other.samples});
  EXPECT_NEAR(difference.value, 0.05, 0.005);
  EXPECT_TRUE(difference.is_above() && !difference.is_below());
  EXPECT_FALSE(difference.mcnemar) << "not shares of right samples";
  EXPECT_TRUE(difference_of({other.value, other.samples}, {one.value, one.samples})->is_below());
  const Score fewer = measured(mean_of({1, 2, 3}), 3);
  EXPECT_FALSE(difference_of({one.value, one.samples}, {fewer.value, fewer.samples}));
}

TEST(IntervalsTest, McNemarCountsTheSamplesThatTellBothApart) {
  const auto compared = [](const std::string& first, const std::string& second) {
    const Score one = measured(share_of(first), first.size()), other = measured(share_of(second), second.size());
    return *difference_of({one.value, one.samples}, {other.value, other.samples});
  };
  const std::string base = hits_of(50, 100);
  EXPECT_EQ(compared(base, base).mcnemar, 1);
  EXPECT_FALSE(compared(base, base).is_above());
  std::string four = base, six = base;
  std::fill_n(four.begin() + 50, 4, '1');
  std::fill_n(six.begin() + 50, 6, '1');
  EXPECT_NEAR(*compared(base, four).mcnemar, 2 * std::pow(0.5, 4), 1e-12);
  EXPECT_FALSE(compared(base, four).is_above()) << "four of four happen by chance in 1 of 8 cases";
  EXPECT_NEAR(*compared(base, six).mcnemar, 2 * std::pow(0.5, 6), 1e-12);
  EXPECT_TRUE(compared(base, six).is_above());
  six[0] = '0';  // one lost, six gained: 2 (1 + 7) / 2^7
  EXPECT_NEAR(*compared(base, six).mcnemar, 0.125, 1e-12);
}

TEST(IntervalsTest, SharesWithoutSpreadAreNotCertain) {
  const Interval all = *measured(share_of(hits_of(20, 20)), 20).interval;
  EXPECT_NEAR(all.low, std::pow(0.025, 1.0 / 20), 1e-12) << "Clopper and Pearson";
  EXPECT_EQ(all.high, 1);
  const Interval none = *measured(share_of(hits_of(0, 20)), 20).interval;
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 1.0 / 20), 1e-12);
}

TEST(IntervalsTest, WithoutSamplesOrANumberThereIsNoInterval) {
  EXPECT_FALSE(measured(mean_of({1}), 1).interval);
  EXPECT_FALSE(measured(mean_of({1, std::nan("")}), 2).interval);
  EXPECT_FALSE(interval_of({}, 1));
  const Score infinite = measured(mean_of({1, INFINITY, 3}), 3);
  EXPECT_EQ(infinite.interval->high, INFINITY) << "0 times infinity does not count";
  EXPECT_LE(infinite.interval->low, 3);
}

TEST(IntervalsTest, SamplesThatDoNotCountMakeNoEvidence) {
  std::vector<Parts> labelled(20);
  labelled[3] = {1, 1};
  const SampledScore one = ratio_of(labelled);
  EXPECT_FALSE(interval_of(resample(one, 20), one.once(20)).has_value());
  labelled[7] = {1, 1};
  const SampledScore two = ratio_of(labelled);
  const Resamples draws = resample(two, 20);
  EXPECT_EQ(draws.counted(), 2u);
  EXPECT_EQ(draws.hits, "---1---1------------");
  EXPECT_NEAR(interval_of(draws, two.once(20))->low, std::sqrt(0.025), 1e-12);
}

TEST(IntervalsTest, AConfidenceThatDrawsCannotShowIsRefused) {
  EXPECT_TRUE(check_confidence(0.5).ok() && check_confidence(0.99).ok());
  for (const double confidence : {0.0, 0.4, 0.999, 1.0, std::nan("")})
    EXPECT_EQ(check_confidence(confidence).code(), Code::kInvalidArgument) << confidence;
}

std::string gated(double bound, std::optional<double> confidence, size_t right, size_t all) {
  const Score found = measured(share_of(hits_of(right, all)), all, confidence.value_or(kConfidence));
  return why_missed({bound, true, confidence}, {found.value, found.samples}, found.interval);
}

TEST(ScoreGateTest, TheValueCountsWithoutAConfidence) {
  EXPECT_EQ(gated(0.75, std::nullopt, 75, 100), "");
  EXPECT_EQ(gated(0.75, std::nullopt, 74, 100), "0.74, required is at least 0.75");
  EXPECT_EQ(why_missed({1, false}, {2, {}}, std::nullopt), "2, required is at most 1");
  EXPECT_NE(why_missed({1, false}, {std::nan(""), {}}, std::nullopt), "");
}

TEST(ScoreGateTest, TheIntervalCountsWithOne) {
  EXPECT_EQ(gated(0.75, 0.95, 900, 1000), "");
  EXPECT_EQ(gated(0.75, 0.95, 74, 100), "0.74, required is at least 0.75") << "the value is missed in any case";
  const std::string unsure = gated(0.75, 0.95, 78, 100);
  EXPECT_NE(unsure.find("0.78 with a 95 % interval of 0."), std::string::npos) << unsure;
  EXPECT_NE(unsure.find("required is at least 0.75: not enough samples to tell, there are 100, about 810 are enough"),
            std::string::npos)
      << unsure;
  EXPECT_EQ(gated(0.75, 0.95, 632, 810), "") << "so many are enough";
  const Resamples of_pairs{.samples = 20, .labelled = 8, .pairs = 57};
  const std::string pairs = why_missed({0.7, true, 0.95}, {0.8, of_pairs}, Interval{0.6, 0.9});
  EXPECT_NE(pairs.find("not enough pairs to tell, there are 57, about 230 are enough"), std::string::npos) << pairs;
  EXPECT_NE(gated(0.75, 0.95, 75, 100).find("no number of samples is enough"), std::string::npos);
  EXPECT_EQ(why_missed({0.5, true, 0.95}, {0.7, {}}, std::nullopt),
            "0.7 without an interval, required is at least 0.5: not enough samples to tell");
}

TEST(ScoreGateTest, AFigureThatIsNoShareNeedsItsOwnSpread) {
  std::vector<double> values(50);
  std::iota(values.begin(), values.end(), 0);  // mean 24.5, interval about 20.5 to 28.5
  const Score found = measured(mean_of(values), 50);
  const std::string unsure = why_missed({23.5, true, 0.95}, {found.value, found.samples}, found.interval);
  EXPECT_NE(unsure.find("not enough samples to tell, there are 50, about "), std::string::npos) << unsure;
  EXPECT_EQ(why_missed({20, true, 0.95}, {found.value, found.samples}, found.interval), "");
  EXPECT_EQ(why_missed({29, false, 0.95}, {found.value, found.samples}, found.interval), "");
}

TEST(IntervalsTest, FiftyThousandSamplesTakeLessThanASecond) {
  constexpr size_t kSamples = 50000;
  std::string hits(kSamples, '0');
  for (size_t i = 0; i < kSamples; i += 3) hits[i] = '1';
  const SampledScore scores[] = {share_of(hits), share_of(hits), mean_of(std::vector<double>(kSamples, 0.5))};
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Resamples> drawn = resample(scores, kSamples);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(drawn[0].draws.size(), 1000u);
  RecordProperty("milliseconds", static_cast<int>(1000 * seconds.count()));
  EXPECT_LT(seconds.count(), 3) << "measured: 0.2 s for three scores on two cores";
}

TEST(IntervalsTest, ExpensiveScoresAreDrawnLessOften) {
  SampledScore slow = mean_of({1, 2, 3});
  slow.cost = size_t{1} << 40;
  EXPECT_EQ(resample(slow, 3).draws.size(), 200u);
}

}  // namespace
}  // namespace quarkq::compare
