// SPDX-License-Identifier: MIT
// Properties of the default methods: ranges within the bins' resolution of the exact quantiles, MinMSE never worse than
// the best of its candidates by more than the resolution explains, and nothing that depends on order.
#include "calib/value_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "calib/calibrator_table.h"

namespace quarkq::calib {
namespace {

constexpr double kResolution = 1.0 / 512;  // of a bin, relative to the values in it

using Samples = std::vector<std::vector<float>>;

/// Distributions as they occur after layers: normal, after a Relu, with outliers, heavy tails, few distinct values.
Samples random_samples(uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  const float scale = std::exp(4 * normal(generator));
  Samples samples(1 + generator() % 6);
  for (std::vector<float>& sample : samples) {
    sample.resize(1 + generator() % 4000);
    for (float& x : sample) {
      x = scale * normal(generator);
      switch (seed % 5) {
        case 1: x = std::max(x, 0.0f); break;
        case 2: x = generator() % 500 == 0 ? 30 * x : x; break;
        case 3: x = x * x * x; break;
        case 4: x = std::round(x / scale * 3) * scale; break;
        default: break;
      }
    }
  }
  return samples;
}

ValueStatistics collect(const Samples& samples) {
  ValueStatistics statistics(/*with_bins=*/true);
  for (size_t i = 0; i < samples.size(); ++i) {
    statistics.add(samples[i].data(), static_cast<int64_t>(samples[i].size()), i);
  }
  return statistics;
}

std::vector<float> sorted_values(const Samples& samples, bool magnitudes) {
  std::vector<float> all;
  for (const std::vector<float>& sample : samples) {
    for (const float x : sample) all.push_back(magnitudes ? std::abs(x) : x);
  }
  std::sort(all.begin(), all.end());
  return all;
}

float exact_quantile(const std::vector<float>& sorted, double fraction) {
  const double rank = std::ceil(fraction * static_cast<double>(sorted.size()) * (1 - 1e-12));
  return sorted[static_cast<size_t>(std::clamp(rank, 1.0, static_cast<double>(sorted.size()))) - 1];
}

void expect_near_exact(float found, float exact, const char* what) {
  EXPECT_LE(std::abs(found - exact), kResolution * std::abs(exact)) << what << ": " << found << ", exact " << exact;
}

TEST(QuantilesTest, RangesLieWithinTheResolutionOfTheExactQuantiles) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Samples samples = random_samples(seed);
    const ValueStatistics statistics = collect(samples);
    const std::vector<float> values = sorted_values(samples, false), magnitudes = sorted_values(samples, true);
    for (const double percent : {0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0}) {
      expect_near_exact(magnitude_quantile(statistics, percent), exact_quantile(magnitudes, percent / 100),
                        "magnitude");
      expect_near_exact(value_quantile(statistics, percent / 100), exact_quantile(values, percent / 100), "value");
      const numeric::Range range = percentile_range(statistics, percent, /*symmetric=*/true);
      EXPECT_GE(range.min, values.front());
      EXPECT_LE(range.max, values.back());
    }
    EXPECT_EQ(magnitude_quantile(statistics, 100), magnitudes.back());
    EXPECT_EQ(value_quantile(statistics, 0), values.front());
  }
}

TEST(QuantilesTest, NothingSeenIsZero) {
  const ValueStatistics statistics(/*with_bins=*/true);
  EXPECT_EQ(magnitude_quantile(statistics, 99), 0.0f);
  EXPECT_EQ(percentile_range(statistics, 99, /*symmetric=*/false), (numeric::Range{0, 0}));
}

TEST(QuantilesTest, AConstantIsItself) {
  const ValueStatistics statistics = collect({std::vector<float>(100, 0.75f)});
  for (const bool symmetric : {false, true}) {
    const numeric::Range range = percentile_range(statistics, 99, symmetric);
    EXPECT_EQ(range.max, 0.75f);
    EXPECT_EQ(range.min, 0.75f);
  }
}

std::vector<const Calibrator*> default_rows() {
  std::vector<const Calibrator*> rows;
  for (const Calibrator& row : calibrators()) {
    if (!row.is_compat()) rows.push_back(&row);
  }
  return rows;
}

MethodOptions options_for(const Calibrator& row) {
  MethodOptions options;
  options.symmetric_range =
      row.method == config::CalibrateMethod::kMinMSE || row.method == config::CalibrateMethod::kNonOverflow;
  options.percentile = 99;
  options.num_bins = row.method == config::CalibrateMethod::kEntropy ? 512 : 2048;
  return options;
}

TEST(DefaultMethodsTest, OrderAndPartitionDoNotChangeARange) {
  std::mt19937 generator(17);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Samples samples = random_samples(seed);
    const ValueStatistics whole = collect(samples);
    ValueStatistics merged(/*with_bins=*/true);
    std::vector<size_t> order(samples.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), generator);
    for (const size_t n : order) {
      ValueStatistics part(/*with_bins=*/true);
      std::vector<float> shuffled = samples[n];
      std::shuffle(shuffled.begin(), shuffled.end(), generator);
      part.add(shuffled.data(), static_cast<int64_t>(shuffled.size()), n);
      merged.merge(std::move(part));
    }
    for (const Calibrator* row : default_rows()) {
      SCOPED_TRACE(row->name);
      const auto a = row->finish(whole, options_for(*row)), b = row->finish(merged, options_for(*row));
      ASSERT_TRUE(a.ok()) << a.status().message();
      EXPECT_EQ(a.value(), b.value());
      EXPECT_TRUE(std::isfinite(a.value().min) && std::isfinite(a.value().max));
    }
  }
}

/// Squared error of the values themselves.
double exact_error(const Samples& samples, numeric::IntegerRange limits, float scale) {
  double error = 0;
  for (const std::vector<float>& sample : samples) {
    for (const float x : sample) {
      const double steps = std::clamp(std::nearbyint(static_cast<double>(x / scale)), static_cast<double>(limits.min),
                                      static_cast<double>(limits.max));
      const double difference = static_cast<double>(x) - steps * static_cast<double>(scale);
      error += difference * difference;
    }
  }
  return error;
}

TEST(DefaultMethodsTest, MinMseIsAsGoodAsTheBestCandidateOnTheValuesThemselves) {
  size_t same = 0, all = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Samples samples = random_samples(seed);
    const ValueStatistics statistics = collect(samples);
    MethodOptions options;
    options.symmetric_range = true;
    const numeric::Range found = finish_power_of_two_mse(statistics, options).value();
    const float scale = found.max / 127;
    const numeric::IntegerRange limits{-127, 127};
    double best = exact_error(samples, limits, scale);
    const double own = best;
    for (const int shift : {-4, -3, -2, -1, 1, 2, 3, 4}) {
      best = std::min(best, exact_error(samples, limits, std::ldexp(scale, shift)));
    }
    ++all;
    same += own == best ? 1 : 0;
    // A value moves by at most half a bin of 1/512 when its bin's middle stands for it.
    EXPECT_LE(own, best * 1.02) << seed;
  }
  EXPECT_GE(same * 100, all * 98) << same << " of " << all;
}

TEST(DefaultMethodsTest, MostCommonTakesTheScaleOfMostSamples) {
  ValueStatistics statistics(/*with_bins=*/true);
  const float value = 100.0f;
  statistics.add(&value, 1, 0);
  statistics.votes = {{3, 5}, {4, 2}, {5, 5}};
  MethodOptions options;
  options.symmetric_range = true;
  options.minmse_mode = "MostCommon";
  EXPECT_EQ(finish_power_of_two_mse(statistics, options).value().max, 127.0f / 32);  // the smaller scale of the two
}

TEST(DefaultMethodsTest, EntropyIsTheWholeRangeWithAsManyBinsAsLevels) {
  const Samples samples = random_samples(7);
  const ValueStatistics statistics = collect(samples);
  EXPECT_EQ(finish_entropy(statistics, {}).value(), statistics.extremes());
  MethodOptions fine;
  fine.num_bins = 2048;
  const numeric::Range cut = finish_entropy(statistics, fine).value();
  EXPECT_LT(cut.max, statistics.extremes().max);
  EXPECT_GT(cut.max, 0.0f);
}

TEST(DefaultMethodsTest, BadSettingsAreRefused) {
  const ValueStatistics statistics = collect({{1, 2, 3}});
  auto refused = [&](Result<numeric::Range> (*finish)(const ValueStatistics&, const MethodOptions&), auto change) {
    MethodOptions options;
    change(options);
    const Result<numeric::Range> range = finish(statistics, options);
    return !range.ok() && range.status().code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refused(finish_percentile, [](MethodOptions& o) { o.percentile = 101; }));
  EXPECT_TRUE(refused(finish_percentile, [](MethodOptions& o) { o.percentile = NAN; }));
  EXPECT_TRUE(refused(finish_layerwise_percentile, [](MethodOptions& o) { o.lwp_metric = "max"; }));
  EXPECT_TRUE(refused(finish_layerwise_percentile, [](MethodOptions& o) { o.percentile_candidates = {}; }));
  EXPECT_TRUE(refused(finish_layerwise_percentile, [](MethodOptions& o) { o.percentile_candidates = {-1}; }));
  EXPECT_TRUE(refused(finish_entropy, [](MethodOptions& o) { o.num_bins = 64; }));
  EXPECT_TRUE(refused(finish_distribution, [](MethodOptions& o) { o.scenario = "p4"; }));
}

}  // namespace
}  // namespace quarkq::calib
