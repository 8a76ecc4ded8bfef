// SPDX-License-Identifier: MIT
// What calibration remembers, against counting one value at a time; independent of order, grouping and threads.
#include "calib/value_statistics.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

namespace quarkq::calib {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Counts with the bin rule spelled out: sign, exponent and nine bits of the mantissa name a bin; zeros of both signs
/// share one.
struct BruteForce {
  std::map<float, uint64_t> bins;  ///< middle -> count
  uint64_t finite = 0, not_finite = 0;
  float min = kInfinity, max = -kInfinity;

  void add(float value) {
    if (!std::isfinite(value)) {
      ++not_finite;
      return;
    }
    ++finite;
    min = std::min(min, value);
    max = std::max(max, value);
    const uint32_t low_bits = (uint32_t{1} << 14) - 1, bits = std::bit_cast<uint32_t>(value);
    const bool is_zero = (bits & 0x7FFFFFFF) <= low_bits;  // subnormals of the lowest bin count as zeros
    ++bins[is_zero ? 0.0f : std::bit_cast<float>((bits & ~low_bits) | uint32_t{1} << 13)];
  }
};

/// Values of every magnitude, with zeros of both signs, subnormals, and non-finite ones when asked for.
std::vector<float> mixed_values(size_t count, uint32_t seed, bool with_non_finite) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    switch (generator() % 8) {
      case 0: value = generator() % 2 == 0 ? 0.0f : -0.0f; break;
      case 1:
        value = std::bit_cast<float>(static_cast<uint32_t>(generator()) & 0x807FFFFF);
        break;                                                                          // subnormal or zero
      case 2: value = std::bit_cast<float>(static_cast<uint32_t>(generator())); break;  // anything
      default: value = normal(generator);
    }
    if (std::isfinite(value)) continue;
    value = with_non_finite ? value : 1.0f;
  }
  if (with_non_finite && count > 9) values[0] = NAN, values[count / 2] = kInfinity, values[count - 1] = -kInfinity;
  return values;
}

void expect_same(const ValueStatistics& statistics, const BruteForce& brute) {
  EXPECT_EQ(statistics.count(), brute.finite);
  EXPECT_EQ(statistics.not_finite(), brute.not_finite);
  const numeric::Range wanted_range = brute.finite > 0 ? numeric::Range{brute.min, brute.max} : numeric::Range{};
  EXPECT_EQ(statistics.extremes(), wanted_range);
  const std::vector<WeightedValue> bins = statistics.bins();
  ASSERT_EQ(bins.size(), brute.bins.size());
  auto wanted = brute.bins.begin();
  for (const WeightedValue& bin : bins) {  // from the most negative value up, as the map
    ASSERT_EQ(bin.value, wanted->first);
    ASSERT_EQ(bin.count, wanted->second) << bin.value;
    ++wanted;
  }
}

void add_all(ValueStatistics& statistics, const std::vector<float>& values, size_t part) {
  uint64_t sample = 0;
  for (size_t begin = 0; begin < values.size(); begin += part) {
    statistics.add(values.data() + begin, static_cast<int64_t>(std::min(part, values.size() - begin)), sample++);
  }
}

TEST(ValueStatisticsTest, CountsAreExact) {
  for (const size_t count : {size_t{1}, size_t{7}, size_t{1000}, size_t{16384}, size_t{100000}}) {
    for (const bool with_non_finite : {false, true}) {
      SCOPED_TRACE(testing::Message() << count << " values");
      const std::vector<float> values = mixed_values(count, 11, with_non_finite);
      BruteForce brute;
      for (const float value : values) brute.add(value);
      ValueStatistics statistics(/*with_bins=*/true);
      statistics.add(values.data(), static_cast<int64_t>(count), 0);
      expect_same(statistics, brute);
    }
  }
}

TEST(ValueStatisticsTest, GroupingOrderAndThreadsDoNotMatter) {
  const int threads = omp_get_max_threads();
  std::vector<float> values = mixed_values(200000, 5, /*with_non_finite=*/true);
  BruteForce brute;
  for (const float value : values) brute.add(value);
  for (const int used : {1, 2, 3, 8}) {
    omp_set_num_threads(used);
    for (const size_t part : {values.size(), size_t{70001}, size_t{16384}, size_t{997}}) {
      SCOPED_TRACE(testing::Message() << used << " threads, parts of " << part);
      ValueStatistics statistics(/*with_bins=*/true);
      add_all(statistics, values, part);
      expect_same(statistics, brute);
      std::shuffle(values.begin(), values.end(), std::mt19937(static_cast<uint32_t>(part)));
    }
  }
  omp_set_num_threads(threads);
}

TEST(ValueStatisticsTest, KeepsTheExtremesOfEachSample) {
  ValueStatistics statistics(/*with_bins=*/false);
  const std::vector<float> first = {1, -2, NAN}, second = {NAN, kInfinity}, third = {5};
  statistics.add(third.data(), 1, 2);  // in any order
  statistics.add(first.data(), 3, 0);
  statistics.add(second.data(), 2, 1);
  statistics.add(nullptr, 0, 3);
  const std::vector<SampleRecord> wanted = {{0, 2, 1, {-2, 1}}, {1, 0, 2, {}}, {2, 1, 0, {5, 5}}, {3, 0, 0, {}}};
  EXPECT_EQ(statistics.records(), wanted);
  EXPECT_EQ(statistics.extremes(), (numeric::Range{-2, 5}));
  EXPECT_EQ(statistics.not_finite(), 3u);
  EXPECT_TRUE(statistics.bins().empty());
}

TEST(ValueStatisticsTest, NothingSeenIsAZeroRange) {
  ValueStatistics statistics(/*with_bins=*/true);
  EXPECT_EQ(statistics.extremes(), (numeric::Range{0, 0}));
  const std::vector<float> none = {NAN, -kInfinity};
  statistics.add(none.data(), 2, 0);
  EXPECT_EQ(statistics.extremes(), (numeric::Range{0, 0}));
  EXPECT_EQ(statistics.not_finite(), 2u);
  EXPECT_TRUE(statistics.bins().empty());
}

TEST(ValueStatisticsTest, AnyPartitionMergesToTheSame) {
  std::mt19937 generator(3);
  std::vector<std::vector<float>> samples;
  for (uint32_t i = 0; i < 12; ++i) samples.push_back(mixed_values(500 + 100 * i, i, i % 3 == 0));
  auto collect = [&](const std::vector<size_t>& numbers) {
    ValueStatistics statistics(/*with_bins=*/true);
    for (const size_t n : numbers) statistics.add(samples[n].data(), static_cast<int64_t>(samples[n].size()), n);
    return statistics;
  };
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const ValueStatistics whole = collect(order);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(order.begin(), order.end(), generator);
    const size_t cut = generator() % order.size();
    ValueStatistics merged = collect({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(cut)});
    merged.merge(collect({order.begin() + static_cast<std::ptrdiff_t>(cut), order.end()}));
    EXPECT_EQ(merged.records(), whole.records());
    EXPECT_EQ(merged.bin_counts(), whole.bin_counts());
  }
}

TEST(ValueStatisticsTest, ZerosOfBothSignsAreOneValue) {
  const float values[] = {-0.0f, 0.0f};
  for (const int first : {0, 1}) {
    ValueStatistics statistics(/*with_bins=*/true);
    statistics.add(values + first, 1, 0);
    EXPECT_FALSE(std::signbit(statistics.extremes().min));
    EXPECT_FALSE(std::signbit(statistics.extremes().max));
  }
}

TEST(ValueStatisticsTest, BinsAreNarrow) {
  std::mt19937 generator(1);
  for (int i = 0; i < 2000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(generator()) & 0x7FFFFFFF);
    if (!std::isfinite(value) || value < std::numeric_limits<float>::min()) continue;
    ValueStatistics statistics(/*with_bins=*/true);
    statistics.add(&value, 1, 0);
    ASSERT_EQ(statistics.bins().size(), 1u);
    EXPECT_LE(std::abs(statistics.bins()[0].value - value) / value, 0.001) << value;  // half a bin of 0.2 %
  }
}

}  // namespace
}  // namespace quarkq::calib
