// SPDX-License-Identifier: MIT
// Counts in fixed bins against a map, counts in pages against a map, and the counting loops of every instruction set.
#include "calib/value_statistics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "calib/uniform_histogram.h"
#include "support/every_isa.h"

namespace quarkq::calib {
namespace {

struct Expected {
  std::map<uint32_t, uint64_t> bins;
  Extremes extremes;

  void add(const std::vector<float>& values) {
    for (const float x : values) {
      if (!std::isfinite(x)) {
        ++extremes.not_finite;
        continue;
      }
      extremes.min = extremes.finite == 0 ? x : std::min(extremes.min, x);
      extremes.max = extremes.finite == 0 ? x : std::max(extremes.max, x);
      ++extremes.finite;
      const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7FFFFFFF;
      if (magnitude != 0) extremes.smallest = std::min(extremes.smallest, magnitude);
      // Zeros of both signs, and what shares their number, are bin 0.
      ++bins[magnitude >> kBinShift == 0 ? 0 : bits >> kBinShift];
    }
  }
};

/// Many signs and exponents, with zeros and what is not finite.
std::vector<float> signed_mixture(int64_t n, uint32_t seed) {
  std::vector<float> values = test::random_values(n, seed);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(values[i], static_cast<int>((i * 7 + seed) % 60) - 30);
    if (i % 11 == 3) values[i] = 0;
    if (i % 17 == 5) values[i] = -0.0f;
    if (i % 23 == 6) values[i] = test::kNan;
    if (i % 29 == 7) values[i] = i % 2 == 0 ? test::kInfinity : -test::kInfinity;
    if (i % 31 == 8) values[i] = 1e-44f;
  }
  return values;
}

void expect_bins(const std::vector<BinCount>& found, const Expected& expected) {
  std::map<uint32_t, uint64_t> bins;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_GT(found[i].count, 0u);
    EXPECT_TRUE(i == 0 || found[i - 1].bin < found[i].bin);
    bins[found[i].bin] = found[i].count;
  }
  EXPECT_EQ(bins, expected.bins);
}

TEST(BinTableTest, CountsAreThoseOfAMap) {
  for (const int64_t length : test::kLengths) {
    BinTable table;
    Expected expected;
    for (uint32_t call = 0; call < 3; ++call) {
      const std::vector<float> values = signed_mixture(length, call + 1);
      Expected once;
      once.add(values);
      expected.add(values);
      const Extremes found = table.count(values.data(), length);
      EXPECT_EQ(found.finite, once.extremes.finite);
      EXPECT_EQ(found.not_finite, once.extremes.not_finite);
      if (found.finite == 0) continue;
      EXPECT_EQ(found.min, once.extremes.min);
      EXPECT_EQ(found.max, once.extremes.max);
    }
    expect_bins(table.take(), expected);
    EXPECT_TRUE(table.take().empty()) << "taken twice";
  }
}

TEST(BinTableTest, ATableThatWasTakenStartsAnew) {
  BinTable table;
  for (const float value : {3.0f, -0.001f, 1e20f}) {
    Expected expected;
    const std::vector<float> values(100, value);
    expected.add(values);
    table.count(values.data(), 100);
    expect_bins(table.take(), expected);
  }
}

/// Entries of 16 bits go past their end.
TEST(BinTableTest, LargeCountsAreExact) {
  BinTable table;
  Expected expected;
  const std::vector<float> ones(kMaxCounted, 1.5f), zeros(kMaxCounted, 0.0f), others(kMaxCounted, -2.25f);
  for (int call = 0; call < 20; ++call) {
    for (const auto& values : {ones, zeros, others}) {
      expected.add(values);
      table.count(values.data(), kMaxCounted);
    }
  }
  EXPECT_GT(expected.bins.begin()->second, 65536u);
  expect_bins(table.take(), expected);
}

TEST(BinTableTest, SumsOfLists) {
  const std::vector<BinCount> a = {{1, 2}, {5, 1}, {9, 7}}, b = {{0, 3}, {5, 4}, {10, 1}};
  const std::vector<BinCount> sum = {{0, 3}, {1, 2}, {5, 5}, {9, 7}, {10, 1}};
  EXPECT_EQ(add_bins(a, b), sum);
  EXPECT_EQ(add_bins(b, a), sum);
  EXPECT_EQ(add_bins(a, {}), a);
  EXPECT_EQ(add_bins({}, b), b);
  EXPECT_TRUE(add_bins({}, {}).empty());
}

TEST(BinTableTest, LoopsOfEveryInstructionSetAgree) {
  for (const int64_t length : test::kLengths) {
    const std::vector<float> values = signed_mixture(length, 5);
    Expected expected;
    expected.add(values);
    const auto check = [&](auto* function) {
      const Extremes found = function(values.data(), length);
      EXPECT_EQ(found.finite, expected.extremes.finite) << length;
      EXPECT_EQ(found.not_finite, expected.extremes.not_finite) << length;
      if (found.finite == 0) return;
      EXPECT_EQ(found.min, expected.extremes.min) << length;
      EXPECT_EQ(found.max, expected.extremes.max) << length;
    };
    QQ_ON_EVERY_ISA(find_extremes, check);
  }
}

TEST(BinTableTest, PagesCountAsAMapDoes) {
  BinCounts counts;
  std::map<int64_t, int64_t> expected;
  std::mt19937 generator(3);
  int64_t total = 0;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 200; ++i, ++total) {
      const int64_t bin = static_cast<int64_t>(generator() % 50000);
      counts.add(bin);
      ++expected[bin];
    }
    const int64_t shift = static_cast<int64_t>(generator() % 9000);
    counts.shift(shift);
    std::map<int64_t, int64_t> moved;
    for (const auto& [bin, count] : expected) moved[bin + shift] = count;
    expected = moved;
  }
  EXPECT_EQ(counts.total(), total);
  std::map<int64_t, int64_t> found;
  counts.visit([&](int64_t bin, int64_t count) { return found[bin] = count, true; });
  EXPECT_EQ(found, expected);
  for (const auto& [bin, count] : expected) EXPECT_EQ(counts.at(bin), count);
  EXPECT_EQ(counts.at(-1), 0);
  int seen = 0;
  counts.visit([&](int64_t, int64_t) { return ++seen < 5; });
  EXPECT_EQ(seen, 5) << "a visit ends when the visitor says so";
}

/// numpy.histogram: bins are half open, the last one is closed.
TEST(BinTableTest, UniformBinsHoldWhatLiesBetweenTheirEdges) {
  const std::pair<float, float> ranges[] = {{0, 1}, {-3, 3}, {0.1f, 0.7f}, {-1e-3f, 2e-3f}, {100, 1000}};
  for (const auto& [first, last] : ranges) {
    for (const int64_t bins : {1, 2, 7, 64, 1000}) {
      const auto edges = make_uniform_edges(first, last, bins).value();
      std::vector<float> values = test::random_values(600, 11, first - (last - first) / 10, last + (last - first) / 10);
      for (int64_t i = 0; i <= bins; i += 3) values.push_back(edges(i));  // on the edges themselves
      std::vector<int64_t> expected(static_cast<size_t>(bins), 0);
      for (const float x : values) {
        if (x < edges(0) || x > edges(bins)) continue;
        int64_t bin = 0;
        while (bin + 1 < bins && x >= edges(bin + 1)) ++bin;
        ++expected[static_cast<size_t>(bin)];
      }
      BinCounts uniform, between;
      count_uniform<float>(values, edges, uniform);
      count_between<float>(values, edges, between);
      for (int64_t i = 0; i < bins; ++i) {
        ASSERT_EQ(between.at(i), expected[static_cast<size_t>(i)]) << first << " to " << last << ", bin " << i;
        ASSERT_EQ(uniform.at(i), expected[static_cast<size_t>(i)]) << first << " to " << last << ", bin " << i;
      }
    }
  }
}

TEST(BinTableTest, BinsAreFoundFromEveryGuess) {
  const auto edges = make_uniform_edges(-1.0, 2.0, 37).value();
  for (double x = -1; x < 2; x += 0.013) {
    for (int64_t guess = 0; guess < 37; ++guess) {
      const int64_t bin = bin_between(edges, x, guess);
      ASSERT_LE(edges(bin), x);
      ASSERT_LT(x, edges(bin + 1));
    }
  }
}

TEST(BinTableTest, EdgesThatCannotBeAreRefused) {
  EXPECT_FALSE(make_uniform_edges(0.0f, 1.0f, 0).ok());
  EXPECT_FALSE(make_uniform_edges(0.0f, 1.0f, kMaxBins + 1).ok());
  EXPECT_FALSE(make_uniform_edges(0.0f, test::kInfinity, 4).ok());
  EXPECT_FALSE(make_uniform_edges(test::kNan, 1.0f, 4).ok());
  EXPECT_FALSE(make_uniform_edges(-3e38f, 3e38f, 4).ok());
  EXPECT_FALSE(make_uniform_edges(1.0f, 1.0f + 1e-6f, 100).ok());
  EXPECT_TRUE(make_uniform_edges(-3e38, 3e38, 4).ok()) << "in double it is no overflow";
}

}  // namespace
}  // namespace quarkq::calib
