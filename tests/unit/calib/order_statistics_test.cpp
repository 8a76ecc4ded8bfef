// SPDX-License-Identifier: MIT
// Percentiles of numbers that are observed twice, against sorting them; what MinMSE scores candidates with, against
// loops.
#include "calib/quark/minmse_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/every_isa.h"

namespace quarkq::calib {
namespace {

const std::vector<double> kPercentiles = {0, 0.1, 1, 25, 33.3, 50, 75, 99, 99.9, 99.999, 100};

/// numpy.percentile, method linear, on float32.
float sorted_percentile(std::vector<float> values, double percentile) {
  std::sort(values.begin(), values.end());
  const double place = static_cast<double>(values.size() - 1) * (percentile / 100);
  const auto below = static_cast<size_t>(std::floor(place));
  if (below + 1 >= values.size()) return values.back();
  const double share = place - std::floor(place);
  const float low = values[below], high = values[below + 1], difference = high - low;
  return share < 0.5 ? low + difference * static_cast<float>(share) : high - difference * static_cast<float>(1 - share);
}

std::vector<float> found_percentiles(const std::vector<float>& values) {
  OrderStatistics statistics(kPercentiles);
  for (const float x : values) statistics.count_upper(x);
  EXPECT_EQ(statistics.count(), static_cast<int64_t>(values.size()));
  statistics.choose();
  for (const float x : values) statistics.count_lower(x);
  std::vector<float> found;
  for (size_t i = 0; i < kPercentiles.size(); ++i) found.push_back(statistics.percentile(i));
  return found;
}

TEST(OrderStatisticsTest, AreThoseOfTheSortedNumbers) {
  std::vector<std::vector<float>> sets = {
      {1}, {2, 1}, {0, 0, 0}, {-0.0f, 0.0f, 1}, {test::kInfinity, 1, -test::kInfinity}, {1e-44f, -1e-44f, 0}};
  for (const int64_t length : test::kLengths) {
    sets.push_back(test::random_values(length, 3));
    sets.push_back(test::random_values(length, 5, 0.999f, 1.001f));  // many share their upper half
    std::vector<float> spread = test::random_values(length, 7);
    for (size_t i = 0; i < spread.size(); ++i) spread[i] = std::ldexp(spread[i], static_cast<int>(i % 40) - 20);
    sets.push_back(spread);
  }
  for (const std::vector<float>& values : sets) {
    const std::vector<float> found = found_percentiles(values);
    for (size_t i = 0; i < kPercentiles.size(); ++i) {
      const float expected = sorted_percentile(values, kPercentiles[i]);
      if (std::isnan(expected)) continue;  // between infinities of both signs
      EXPECT_EQ(found[i], expected) << values.size() << " values, percentile " << kPercentiles[i];
    }
  }
}

/// What NumPy 2.4.6 gives.
TEST(OrderStatisticsTest, AreNumPys) {
  const std::vector<float> values = {1.5f, -2, 3, 0, 7, -7.25f, 0.125f, 100, 3.5f, -1e-3f};
  const std::vector<float> recorded = {
      -7.25f, -7.202750205993652f, -6.777500152587891f, -0.000750000006519258f, -3.000000106112566e-06f, 0.8125f,
      3.375f, 91.62999725341797f,  99.16300201416016f};
  const std::vector<float> found = found_percentiles(values);
  for (size_t i = 0; i < recorded.size(); ++i) EXPECT_FLOAT_EQ(found[i], recorded[i]) << kPercentiles[i];
  EXPECT_EQ(found.back(), 100.0f);
}

numeric::QuantSpec spec_of(ElementType type, bool symmetric) {
  numeric::QuantSpec spec;
  spec.type = type;
  spec.symmetric = symmetric;
  spec.scale = numeric::ScaleKind::kPowerOfTwo;
  return spec;
}

TEST(OrderStatisticsTest, CandidatesAreFivePowersAroundTheRangesScale) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16}) {
    for (const float largest : {0.01f, 0.9f, 1.0f, 7.3f, 900.0f}) {
      const numeric::QuantSpec spec = spec_of(type, true);
      const PowerCandidates found = power_candidates(spec, {-largest, largest}, false).value();
      const float nearest = numeric::params_for_range(spec, {-largest, largest}).value().scale;
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].scale, std::ldexp(nearest, 1 - static_cast<int>(i))) << largest;
        EXPECT_EQ(found[i].zero_point, found[0].zero_point);
      }
    }
  }
}

TEST(OrderStatisticsTest, SquaredErrorIsTheSumOverTheValues) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16}) {
    const numeric::QuantSpec spec = spec_of(type, true);
    for (const int64_t length : {1, 16, 300}) {
      const std::vector<float> values = test::random_values(length, 17, type == ElementType::kUInt8 ? 0.0f : -3.0f, 3);
      for (const float scale : {1.0f, 0.0625f, 0.015625f}) {
        const numeric::QuantParams params{scale, type == ElementType::kUInt8 ? 3 : 0};
        const numeric::IntegerRange limits = numeric::integer_range(type, numeric::RangeKind::kSymmetric);
        double expected = 0;
        for (const float x : values) {
          const double steps = std::nearbyint(static_cast<double>(x / scale)) + params.zero_point;
          const double code = std::clamp(steps, static_cast<double>(limits.min), static_cast<double>(limits.max));
          const double error = (code - params.zero_point) * static_cast<double>(scale) - static_cast<double>(x);
          expected += error * error;
        }
        EXPECT_NEAR(static_cast<double>(squared_error(values, spec, params)), expected, 1e-5 * expected + 1e-9);
      }
    }
  }
}

TEST(OrderStatisticsTest, TheFirstOfTheLeastErrorsWins) {
  EXPECT_EQ(index_of_least<double>({3, 1, 2, 1, 5}), 1u);
  EXPECT_EQ(index_of_least<double>({0, 0, 0, 0, 0}), 0u);
  EXPECT_EQ(index_of_least<float>({5, 4, 3, 2, 1}), 4u);
}

TEST(OrderStatisticsTest, MinMseSearchesForIntegers) {
  struct Row {
    ElementType asked, searched;
  };
  for (const Row& row : {Row{ElementType::kInt8, ElementType::kInt8},
                         {ElementType::kUInt16, ElementType::kUInt16},
                         {ElementType::kInt32, ElementType::kInt32},
                         {ElementType::kBFloat16, ElementType::kInt8},
                         {ElementType::kFloat16, ElementType::kInt8},
                         {ElementType::kUndefined, ElementType::kInt8}}) {
    const numeric::QuantSpec spec = minmse_spec(spec_of(row.asked, false), true);
    EXPECT_EQ(spec.type, row.searched);
    EXPECT_TRUE(spec.symmetric);
    EXPECT_EQ(spec.scale, numeric::ScaleKind::kPowerOfTwo);
  }
}

/// ref:scales#float-scales: a float16 range whose step is below the smallest normal half gets scale 1.
TEST(OrderStatisticsTest, HalfRangesAreScoredInHalf) {
  const numeric::QuantSpec spec = spec_of(ElementType::kInt8, true);
  EXPECT_EQ(scoring_params(spec, {-0.001f, 0.001f}, true).value().scale, 1.0f);
  EXPECT_LT(scoring_params(spec, {-0.001f, 0.001f}, false).value().scale, 1.0f);
  EXPECT_EQ(scoring_params(spec, {-1, 1}, true).value().scale, scoring_params(spec, {-1, 1}, false).value().scale);
  EXPECT_FALSE(scoring_params(spec, {NAN, 1}, false).ok());
}

}  // namespace
}  // namespace quarkq::calib
