// SPDX-License-Identifier: MIT
// What the reference's calibration methods are made of, against numbers that NumPy 2.4.6 gave.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calib/quark/minmse_search.h"
#include "calib/quark/value_histogram.h"
#include "calib/uniform_histogram.h"
#include "unit/numeric/golden_calibration.h"

namespace quarkq::calib {
namespace {

using quarkq::test::generated;

std::vector<int64_t> counts_of(const BinCounts& counts, int64_t bins) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < bins; ++i) found.push_back(counts.at(i));
  return found;
}

TEST(QuarkHistogramTest, PairwiseSumIsNumPys) {
  std::vector<float> values = generated(777, 4096);
  for (float& x : values) x /= 3;
  const std::pair<int64_t, float> recorded[] = {{5, 0x1.1782aep-1f},   {8, 0x1.4baf56p-1f},    {100, 0x1.8d2556p+0f},
                                                {129, 0x1.65d3f4p-1f}, {1000, 0x1.4703aep+3f}, {4096, 0x1.05430cp+4f}};
  for (const auto& [count, sum] : recorded) {
    EXPECT_EQ(pairwise_sum(0, count, [&](int64_t i) { return values[static_cast<size_t>(i)]; }), sum) << count;
  }
  EXPECT_EQ(pairwise_sum(0, 0, [](int64_t) { return 1.0f; }), 0.0f);
}

TEST(QuarkHistogramTest, CountsMoveUpAcrossPages) {
  BinCounts counts;
  counts.add(0);
  counts.add(5000);
  counts.add(5000);
  counts.shift(3);
  counts.shift(int64_t{1} << 30);
  counts.add(2);
  const int64_t moved = (int64_t{1} << 30) + 3;
  EXPECT_EQ(counts.at(moved), 1);
  EXPECT_EQ(counts.at(moved + 5000), 2);
  EXPECT_EQ(counts.at(2), 1);
  EXPECT_EQ(counts.at(0), 0);
  EXPECT_EQ(counts.at(int64_t{1} << 40), 0);
  EXPECT_EQ(counts.total(), 4);
  std::vector<int64_t> bins;
  counts.visit([&](int64_t bin, int64_t) { return bins.push_back(bin), true; });
  EXPECT_EQ(bins, (std::vector<int64_t>{2, moved, moved + 5000}));
}

TEST(QuarkHistogramTest, UniformEdgesWidenAPointAndRefuseWhatNumPyDoes) {
  const auto edges = make_uniform_edges(0.75f, 0.75f, 4).value();
  EXPECT_EQ(edges(0), 0.25f);
  EXPECT_EQ(edges(1), 0.5f);
  EXPECT_EQ(edges(4), 1.25f);
  EXPECT_FALSE(make_uniform_edges(1.0f, 1.0f + 0x1p-22f, 2048).ok());
  EXPECT_TRUE(make_uniform_edges(1.0, 1.0 + 0x1p-22, 2048).ok());
  const float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  EXPECT_FALSE(make_uniform_edges(0.0f, infinity, 8).ok());
  EXPECT_FALSE(make_uniform_edges(-largest, largest, 8).ok()) << "the width is infinite";
  EXPECT_FALSE(make_uniform_edges(0.0f, 1.0f, 0).ok());
  EXPECT_FALSE(make_uniform_edges(0.0f, 1.0f, kMaxBins + 1).ok());
}

/// Both ways of counting must agree with the edges themselves.
TEST(QuarkHistogramTest, CountsByFormulaAndByComparisonAgree) {
  const std::vector<float> values = generated(5, 3000);
  for (const int64_t bins : {1, 7, 64, 2048}) {
    const auto edges = make_uniform_edges(-2.5f, 3.25f, bins).value();
    BinCounts formula, comparison;
    count_uniform<float>(values, edges, formula);
    count_between<float>(values, edges, comparison);
    EXPECT_EQ(counts_of(formula, bins), counts_of(comparison, bins));
    std::vector<int64_t> expected(static_cast<size_t>(bins));
    for (const float x : values) {
      if (x < edges(0) || x > edges(bins)) continue;
      int64_t bin = 0;
      while (bin + 1 < bins && edges(bin + 1) <= x) ++bin;
      ++expected[static_cast<size_t>(bin)];
    }
    EXPECT_EQ(counts_of(formula, bins), expected) << bins;
  }
}

/// Eight bins, four samples, the third of which appends ten.
TEST(QuarkHistogramTest, WorkedExampleOfGrowth) {
  const std::vector<float> values = generated(12345, 128);
  constexpr float kFactors[] = {1, 0.5f, 2, 1.25f};
  const auto absolute = make_histogram_abs(8, false), value = make_histogram_signed(8, false);
  for (size_t sample = 0; sample < 4; ++sample) {
    std::vector<float> part(values.begin() + static_cast<int64_t>(sample * 32),
                            values.begin() + static_cast<int64_t>(sample * 32 + 32));
    for (float& x : part) x *= kFactors[sample];
    ASSERT_TRUE(absolute->add(clean_sample(part)).ok());
    ASSERT_TRUE(value->add(clean_sample(part)).ok());
  }
  EXPECT_EQ(counts_of(absolute->counts(), absolute->bins()),
            (std::vector<int64_t>{32, 27, 17, 16, 6, 7, 5, 4, 4, 2, 0, 1, 0, 2, 1, 0, 1, 1}));
  EXPECT_EQ(absolute->edge(18), 5.185642242431641f);
  EXPECT_EQ(counts_of(value->counts(), value->bins()),
            (std::vector<int64_t>{1, 0, 1, 1, 5, 6, 8, 14, 23, 37, 18, 7, 3, 1, 0, 1, 1, 1}));
  EXPECT_EQ(value->edge(0), -5.233268737792969f);
}

/// A float16 tensor: edges are rounded to float16, in histogram B each step on the way to them, too.
TEST(QuarkHistogramTest, Float16EdgesAreNumPys) {
  const auto absolute = make_histogram_abs(8, true), value = make_histogram_signed(8, true);
  for (const uint32_t seed : {11u, 12u, 13u}) {
    std::vector<float> values = generated(seed, 64);
    const float factor = seed == 11 ? 1.0f : seed == 12 ? 3.0f : 9.0f;
    for (float& x : values) x = rounded_to_half(rounded_to_half(x * factor));
    ASSERT_TRUE(absolute->add(clean_sample(values)).ok());
    ASSERT_TRUE(value->add(clean_sample(values)).ok());
  }
  ASSERT_EQ(absolute->bins(), 57);
  const std::pair<int64_t, float> edges[] = {{0, 0.0168304443359375f}, {1, 0.361572265625f}, {8, 2.775390625f},
                                             {9, 3.12109375f},         {24, 8.28125f},       {57, 19.625f}};
  for (const auto& [i, edge] : edges) EXPECT_EQ(absolute->edge(i), edge) << i;
  const auto counts = counts_of(absolute->counts(), 57);
  EXPECT_EQ(std::vector<int64_t>(counts.begin(), counts.begin() + 16),
            (std::vector<int64_t>{24, 30, 15, 12, 12, 10, 5, 7, 6, 5, 9, 5, 10, 2, 2, 2}));
  ASSERT_EQ(value->bins(), 58);
  const std::pair<int64_t, float> signed_edges[] = {{0, -20.125f}, {1, -19.4375f}, {2, -18.734375f}, {30, 0.6875f}};
  for (const auto& [i, edge] : signed_edges) EXPECT_EQ(value->edge(i), edge) << i;
}

/// An outlier multiplies the bins by a hundred thousand without taking their memory.
TEST(QuarkHistogramTest, OutlierMakesManyBins) {
  HistogramPow2 pow2(2048);
  ASSERT_TRUE(pow2.add(std::vector<float>{0, 1}).ok());
  ASSERT_TRUE(pow2.add(std::vector<float>{-1e5f, 0.5f, 5e5f}).ok());
  EXPECT_EQ(pow2.bins(), 2048 * int64_t{600000});
  const int64_t zero = 2048 * int64_t{100000};
  EXPECT_EQ(pow2.counts().at(0), 1);
  EXPECT_EQ(pow2.counts().at(zero), 1);
  EXPECT_EQ(pow2.counts().at(zero + 1024), 1);
  EXPECT_EQ(pow2.counts().at(zero + 2047), 1);
  EXPECT_EQ(pow2.counts().at(pow2.bins() - 1), 1);
  EXPECT_FALSE(pow2.add(std::vector<float>{1e7f}).ok());
}

/// Appended edges may fall short of the largest value, and may coincide; every value finds its bin all the same.
TEST(QuarkHistogramTest, EdgeListFindsBinsInEveryRun) {
  EdgeList edges(make_uniform_edges(1.0f, 1.001f, 16).value(), false);
  for (const float largest : {1.5f, 40.0f, 41.0f, 3000.0f}) {
    ASSERT_TRUE(edges.grow(largest).ok());
    std::vector<float> values = generated(3, 500);
    for (float& x : values) x = 1 + std::abs(x) / 6 * (largest - 1);
    BinCounts counts;
    count_between<double>(values, edges, counts);
    counts.visit([&](int64_t bin, int64_t count) {
      const auto inside = std::count_if(values.begin(), values.end(), [&](float x) {
        return edges(bin) <= static_cast<double>(x) && static_cast<double>(x) < edges(bin + 1);
      });
      EXPECT_EQ(inside, count) << bin;
      return true;
    });
    edges.round_runs();
  }
}

TEST(QuarkHistogramTest, PercentilesAreNumPys) {
  const std::vector<double> percentiles = {0, 2.5, 50, 99.9, 99.999, 100};
  const float recorded[] = {-2.68731689453125f,  -2.020503282546997f, -0.0034637451171875f,
                            2.6630218029022217f, 3.3390274047851562f, 3.345855712890625f};
  OrderStatistics order(percentiles);
  const std::vector<float> values = generated(21, 1000);
  for (const float x : values) order.count_upper(x);
  order.choose();
  for (const float x : values) order.count_lower(x);
  for (size_t i = 0; i < percentiles.size(); ++i) EXPECT_EQ(order.percentile(i), recorded[i]) << percentiles[i];
}

TEST(QuarkHistogramTest, OneValueIsEveryPercentile) {
  OrderStatistics order({0, 37, 100});
  order.count_upper(-1.5f);
  order.choose();
  order.count_lower(-1.5f);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(order.percentile(i), -1.5f);
}

TEST(QuarkHistogramTest, SanitizingKeepsInfinitiesBesideFiniteValues) {
  const std::vector<float> mixed = {NAN, 2, -INFINITY}, none = {NAN, INFINITY}, fine = {1, 70000};
  EXPECT_EQ(clean_sample(mixed).repaired, (std::vector<float>{0, 2, -INFINITY}));
  EXPECT_TRUE(clean_sample(mixed).has_infinity());
  EXPECT_EQ(clean_sample(none).repaired, (std::vector<float>{0, 0}));
  EXPECT_EQ(clean_sample(fine).values.data(), fine.data());
  EXPECT_EQ(clean_sample(fine, SampleCache::kHalf).repaired, (std::vector<float>{1, INFINITY}));
  EXPECT_EQ(clean_sample({}).extremes, (numeric::Range{0, 0}));
}

/// ref:scales#float-scales: float16 ranges whose scale is below 2^-14 get scale 1.
TEST(QuarkHistogramTest, NarrowFloat16RangesHaveScaleOne) {
  numeric::QuantSpec spec;
  spec.symmetric = false;
  const numeric::Range narrow = {-0.0078125f, 0.00390625f}, wide = {-1, 1.5f};
  EXPECT_EQ(scoring_params(spec, narrow, /*is_half=*/true).value(), (numeric::QuantParams{1, 0}));
  EXPECT_NE(scoring_params(spec, narrow, /*is_half=*/false).value().scale, 1.0f);
  EXPECT_EQ(scoring_params(spec, wide, /*is_half=*/true).value(), scoring_params(spec, wide, false).value());
}

}  // namespace
}  // namespace quarkq::calib
