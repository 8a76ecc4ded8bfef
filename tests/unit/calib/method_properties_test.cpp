// SPDX-License-Identifier: MIT
// What holds for the range of every default method, whatever the data: it lies within the extremes, it follows the data
// when they are scaled or mirrored, and neither order nor grouping of the samples changes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "calib/calibrator_table.h"

namespace quarkq::calib {
namespace {

using numeric::Range;
using Samples = std::vector<std::vector<float>>;

std::vector<const Calibrator*> methods() {
  std::vector<const Calibrator*> all;
  for (const Calibrator& row : calibrators()) {
    if (!row.is_compat()) all.push_back(&row);
  }
  return all;
}

MethodOptions int8_options(bool symmetric_range = false) {
  MethodOptions options;
  options.spec.type = ElementType::kInt8;
  options.symmetric_range = symmetric_range;
  return options;
}

ValueStatistics statistics_of(const Calibrator& method, const Samples& samples) {
  ValueStatistics statistics(method.needs_bins);
  for (size_t i = 0; i < samples.size(); ++i) {
    statistics.add(samples[i].data(), static_cast<int64_t>(samples[i].size()), i);
  }
  return statistics;
}

Range method_range(const Calibrator& method, const Samples& samples, const MethodOptions& options = int8_options()) {
  const Result<Range> range = method.finish(statistics_of(method, samples), options);
  EXPECT_TRUE(range.ok()) << range.status().message();
  return range.ok() ? range.value() : Range{};
}

Samples samples_of(uint32_t seed, float scale = 1, float shift = 0) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Samples samples(3);
  for (std::vector<float>& sample : samples) {
    for (int i = 0; i < 700; ++i) {
      const float x = normal(generator);
      sample.push_back(scale * (seed % 2 == 0 ? x : x * x * x) + shift);
    }
  }
  return samples;
}

class MethodPropertiesTest : public ::testing::TestWithParam<const Calibrator*> {};
INSTANTIATE_TEST_SUITE_P(Default, MethodPropertiesTest, ::testing::ValuesIn(methods()),
                         [](const auto& row) { return std::string(row.param->name); });

TEST_P(MethodPropertiesTest, TheRangeIsOrderedAndFinite) {
  const float largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  const Samples rows[] = {{{}},
                          {{0}},
                          {{-0.0f, 0}},
                          {{5}},
                          {{-5, -5, -5}},
                          {{1e-20f, -1e-20f}},
                          {{1e30f, -1e30f, 1}},
                          {{least, -least}},
                          {{NAN, INFINITY}},
                          {{NAN, 2, -INFINITY}, {-1}},
                          {{}, {3}},
                          {{largest, 1}}};
  for (const Samples& row : rows) {
    for (const bool symmetric : {false, true}) {
      SCOPED_TRACE(testing::Message() << "row " << &row - rows << (symmetric ? " symmetric" : ""));
      const Range range = method_range(*GetParam(), row, int8_options(symmetric));
      EXPECT_TRUE(std::isfinite(range.min) && std::isfinite(range.max)) << range.min << " " << range.max;
      EXPECT_LE(range.min, range.max);
    }
  }
}

/// A power of two is exact, so that the bins of the scaled data are those of the data, moved.
TEST_P(MethodPropertiesTest, ScalingTheDataScalesTheRange) {
  for (const uint32_t seed : {1u, 2u, 3u, 4u}) {
    const Range range = method_range(*GetParam(), samples_of(seed));
    for (const float factor : {0x1p-20f, 0.5f, 0x1p10f}) {
      const Range scaled = method_range(*GetParam(), samples_of(seed, factor));
      EXPECT_NEAR(scaled.min / factor, range.min, 1e-5 * std::abs(range.min)) << seed << " times " << factor;
      EXPECT_NEAR(scaled.max / factor, range.max, 1e-5 * std::abs(range.max)) << seed << " times " << factor;
    }
  }
}

TEST_P(MethodPropertiesTest, SymmetricRangesDoNotChangeWhenTheDataAreMirrored) {
  for (const uint32_t seed : {5u, 6u}) {
    const Range range = method_range(*GetParam(), samples_of(seed), int8_options(true));
    const Range mirrored = method_range(*GetParam(), samples_of(seed, -1), int8_options(true));
    const float reach = std::max(-range.min, range.max), other = std::max(-mirrored.min, mirrored.max);
    EXPECT_NEAR(reach, other, 1e-5 * reach);
  }
}

TEST_P(MethodPropertiesTest, OrderAndRepetitionDoNotMatter) {
  const MethodOptions options = int8_options();
  Samples samples = samples_of(7);
  const Range range = method_range(*GetParam(), samples, options);
  std::mt19937 generator(9);
  for (std::vector<float>& sample : samples) std::shuffle(sample.begin(), sample.end(), generator);
  std::reverse(samples.begin(), samples.end());
  EXPECT_EQ(method_range(*GetParam(), samples, options), range);
  Samples twice = samples;
  twice.insert(twice.end(), samples.begin(), samples.end());
  const Range repeated = method_range(*GetParam(), twice, options);
  EXPECT_NEAR(repeated.min, range.min, 1e-2 * std::abs(range.min)) << "the same distribution, twice";
  EXPECT_NEAR(repeated.max, range.max, 1e-2 * std::abs(range.max));
}

TEST_P(MethodPropertiesTest, PartsOfTheDataMergeToTheSameRange) {
  const Samples samples = samples_of(8);
  const Range range = method_range(*GetParam(), samples);
  ValueStatistics last_first(GetParam()->needs_bins);
  for (size_t i = samples.size(); i-- > 0;) {
    ValueStatistics part(GetParam()->needs_bins);
    part.add(samples[i].data(), static_cast<int64_t>(samples[i].size()), i);
    last_first.merge(std::move(part));
  }
  EXPECT_EQ(GetParam()->finish(last_first, int8_options()).value(), range);
}

/// Statistics of three parts merge to the same however they are bracketed.
TEST(StatisticsMergeTest, IsAssociative) {
  const Samples samples = samples_of(10, 3, 1);
  const auto part = [&](size_t i) {
    ValueStatistics one(/*with_bins=*/true);
    one.add(samples[i].data(), static_cast<int64_t>(samples[i].size()), i);
    one.votes[static_cast<int>(i) % 2] = i + 1;
    return one;
  };
  ValueStatistics left = part(0), right = part(1);
  left.merge(part(1));
  left.merge(part(2));
  right.merge(part(2));
  ValueStatistics first = part(0);
  first.merge(std::move(right));
  EXPECT_EQ(left.records(), first.records());
  EXPECT_EQ(left.bin_counts(), first.bin_counts());
  EXPECT_EQ(left.votes, first.votes);
  EXPECT_EQ(left.votes, (std::map<int, uint64_t>{{0, 4}, {1, 2}}));
  ValueStatistics with_empty = part(0);
  with_empty.merge(ValueStatistics(/*with_bins=*/true));
  EXPECT_EQ(with_empty.records(), part(0).records());
  EXPECT_EQ(with_empty.bin_counts(), part(0).bin_counts());
}

TEST(StatisticsMergeTest, CopiesAreIndependent) {
  const Samples samples = samples_of(11);
  ValueStatistics original(/*with_bins=*/true);
  original.add(samples[0].data(), 700, 0);
  ValueStatistics copy = original;
  copy.add(samples[1].data(), 700, 1);
  EXPECT_EQ(original.count(), 700u);
  EXPECT_EQ(copy.count(), 1400u);
  original.add(samples[1].data(), 700, 1);
  EXPECT_EQ(original.bin_counts(), copy.bin_counts());
}

}  // namespace
}  // namespace quarkq::calib
