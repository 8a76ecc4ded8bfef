// SPDX-License-Identifier: MIT
// Distances between arrays against their definitions, and what they are at the edges.
#include "numeric/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace quarkq::numeric {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
using Doubles = std::vector<double>;

Doubles random_doubles(size_t n, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> distribution;
  Doubles values(n);
  for (double& x : values) x = distribution(generator);
  return values;
}

TEST(MetricsTest, SumsAreThoseOfPlainLoops) {
  for (const size_t n : {1u, 2u, 7u, 8u, 9u, 63u, 1000u, 4099u}) {
    const Doubles a = random_doubles(n, 1), b = random_doubles(n, 2);
    long double dot = 0, norm_a = 0, norm_b = 0, distance = 0;
    double largest = 0, peak = -kInfinite, magnitude = 0;
    for (size_t i = 0; i < n; ++i) {
      const double difference = a[i] - b[i];
      dot += static_cast<long double>(a[i]) * b[i];
      norm_a += static_cast<long double>(a[i]) * a[i];
      norm_b += static_cast<long double>(b[i]) * b[i];
      distance += static_cast<long double>(difference) * difference;
      largest = std::max(largest, std::abs(difference));
      peak = std::max(peak, a[i]);
      magnitude = std::max(magnitude, std::abs(a[i]));
    }
    const PairSums sums = pair_sums(a, b);
    EXPECT_NEAR(sums.dot, static_cast<double>(dot), 1e-9);
    EXPECT_NEAR(sums.norm_a, static_cast<double>(norm_a), 1e-9);
    EXPECT_NEAR(sums.norm_b, static_cast<double>(norm_b), 1e-9);
    EXPECT_NEAR(sums.squared_distance, static_cast<double>(distance), 1e-9);
    EXPECT_EQ(sums.max_distance, largest);
    EXPECT_EQ(sums.max_a, peak);
    EXPECT_EQ(sums.max_magnitude_a, magnitude);
    EXPECT_NEAR(cosine(sums), static_cast<double>(dot / std::sqrt(norm_a * norm_b)), 1e-12);
    EXPECT_NEAR(sqnr_db(sums), static_cast<double>(10 * std::log10(norm_a / distance)), 1e-9);
    EXPECT_NEAR(l2_distance(sums), static_cast<double>(std::sqrt(distance)), 1e-9);
    const double error = static_cast<double>(distance) / static_cast<double>(n);
    EXPECT_NEAR(psnr_db(sums, Peak::kMagnitude), 20 * std::log10(magnitude) - 10 * std::log10(error), 1e-9);
  }
}

TEST(MetricsTest, PartsAddUpToTheWhole) {
  const Doubles a = random_doubles(500, 3), b = random_doubles(500, 4);
  const PairSums whole = pair_sums(a, b);
  for (const size_t cut : {0u, 1u, 250u, 499u, 500u}) {
    PairSums sums = pair_sums(std::span(a).first(cut), std::span(b).first(cut));
    const PairSums rest = pair_sums(std::span(a).subspan(cut), std::span(b).subspan(cut));
    if (cut == 0) sums = rest;
    if (cut != 0 && cut != 500) add(rest, sums);
    EXPECT_NEAR(sums.dot, whole.dot, 1e-9);
    EXPECT_NEAR(sums.squared_distance, whole.squared_distance, 1e-9);
    EXPECT_EQ(sums.max_distance, whole.max_distance);
    EXPECT_EQ(sums.max_a, whole.max_a);
    EXPECT_EQ(sums.max_magnitude_a, whole.max_magnitude_a);
  }
}

TEST(MetricsTest, EqualArraysAreExactlyEqual) {
  for (const size_t n : {1u, 3u, 1000u}) {
    const Doubles a = random_doubles(n, 5);
    const PairSums sums = pair_sums(a, a);
    EXPECT_EQ(cosine(sums), 1.0);
    EXPECT_EQ(sqnr_db(sums), kInfinite);
    EXPECT_EQ(l2_distance(sums), 0.0);
  }
  for (const double size :
       {1e-150, 1e-100, 1e-80, 1e80, 1e150}) {  // the product of the norms leaves the range of double
    const Doubles a(4, size), b = {size, -size, size, size};
    EXPECT_NEAR(cosine(pair_sums(a, a)), 1, 1e-12) << size;
    EXPECT_NEAR(cosine(pair_sums(a, b)), 0.5, 1e-12) << size;
  }
}

/// Doubles whose squares are infinite: what does not depend on the unit is that of values a power of two smaller.
TEST(MetricsTest, LargeDoublesHaveTheDistancesOfSmallOnes) {
  const Doubles a = random_doubles(100, 6), b = random_doubles(100, 7);
  const PairSums small = pair_sums(a, b);
  for (const int exponent : {505, 512, 700, 1020}) {
    SCOPED_TRACE(exponent);
    Doubles large_a = a, large_b = b;
    for (double& value : large_a) value = std::ldexp(value, exponent);
    for (double& value : large_b) value = std::ldexp(value, exponent);
    const PairSums large = pair_sums(large_a, large_b);
    EXPECT_NEAR(cosine(large), cosine(small), 1e-12);
    EXPECT_NEAR(sqnr_db(large), sqnr_db(small), 1e-9);
    EXPECT_NEAR(std::ldexp(l2_distance(large), -exponent), l2_distance(small), 1e-12);
    for (const Peak peak : {Peak::kMagnitude, Peak::kSigned})
      EXPECT_NEAR(psnr_db(large, peak), psnr_db(small, peak), 1e-9);
    EXPECT_EQ(large.max_a, std::ldexp(small.max_a, exponent));
    EXPECT_EQ(cosine(pair_sums(large_a, large_a)), 1.0);
    PairSums all = small;  // of small values and large ones: these decide
    add(large, all);
    EXPECT_NEAR(cosine(all), cosine(small), 1e-12);
    all = large;
    add(small, all);
    EXPECT_NEAR(sqnr_db(all), sqnr_db(small), 1e-9);
  }
}

TEST(MetricsTest, ZerosHaveADefinition) {
  const Doubles zero = {0, 0}, one = {1, 0}, minus = {-1, 0};
  EXPECT_EQ(cosine(pair_sums(zero, zero)), 1.0);
  EXPECT_EQ(cosine(pair_sums(zero, one)), 0.0);
  EXPECT_EQ(cosine(pair_sums(one, zero)), 0.0);
  EXPECT_EQ(cosine(pair_sums(one, minus)), -1.0);
  EXPECT_EQ(sqnr_db(pair_sums(zero, one)), -kInfinite);
  EXPECT_EQ(cosine(pair_sums({}, {})), 1.0);
}

TEST(MetricsTest, PeaksAndFloorsOfPsnr) {
  const Doubles loud = {-4, 1}, off = {-4, 2}, zero = {0, 0};
  EXPECT_NEAR(psnr_db(pair_sums(loud, off), Peak::kMagnitude), 20 * std::log10(4.0) - 10 * std::log10(0.5), 1e-12);
  EXPECT_NEAR(psnr_db(pair_sums(loud, off), Peak::kSigned), 20 * std::log10(1.0) - 10 * std::log10(0.5), 1e-12);
  EXPECT_NEAR(psnr_db(pair_sums(loud, loud), Peak::kMagnitude), 20 * std::log10(4.0) + 100, 1e-12);
  EXPECT_NEAR(psnr_db(pair_sums(zero, off), Peak::kMagnitude), -200 - 10 * std::log10(10.0), 1e-12);
  const Doubles negative = {-4, -1};
  EXPECT_NEAR(psnr_db(pair_sums(negative, negative), Peak::kSigned), -200 + 100, 1e-12);
}

TEST(MetricsTest, EqualNanAndInfinitiesAreLeftOut) {
  const Doubles a = {1, NAN, 2, kInfinite, -kInfinite}, b = {1, NAN, 3, kInfinite, -kInfinite};
  const PairSums sums = pair_sums(a, b), finite = pair_sums(Doubles{1, 2}, Doubles{1, 3});
  EXPECT_EQ(sums.same, 3u);
  EXPECT_EQ(sums.differing, 0u);
  EXPECT_EQ(sums.compared, 2u);
  EXPECT_EQ(cosine(sums), cosine(finite));
  EXPECT_EQ(sqnr_db(sums), sqnr_db(finite));
  EXPECT_EQ(psnr_db(sums, Peak::kMagnitude), psnr_db(finite, Peak::kMagnitude));
  EXPECT_EQ(sums.max_distance, 1);
  EXPECT_EQ(cosine(pair_sums(Doubles{NAN}, Doubles{NAN})), 1.0);
}

TEST(MetricsTest, DifferentNanAndInfinitiesLowerTheCosine) {
  const Doubles a = {1, NAN, 2, kInfinite, 3, 4}, b = {1, 2, 2, -kInfinite, 3, 4};
  PairSums sums = pair_sums(a, b);
  EXPECT_EQ(sums.differing, 2u);
  EXPECT_NEAR(cosine(sums), 4.0 / 6.0, 1e-12);
  EXPECT_EQ(cosine(pair_sums(Doubles{NAN}, Doubles{1})), 0.0);
  add(pair_sums(Doubles{1, NAN}, Doubles{1, 1}), sums);
  EXPECT_EQ(sums.differing, 3u);
  EXPECT_EQ(sums.compared, 5u);
}

TEST(MetricsTest, AllValuesCountWhereAsked) {
  const Doubles a = {1, NAN, 2}, b = {1, 2, 3};
  EXPECT_TRUE(std::isnan(pair_sums_of_all(a, b).dot));
  EXPECT_TRUE(std::isnan(pair_sums_of_all(a, b).max_distance));
  PairSums all = pair_sums_of_all(b, b);
  add(pair_sums_of_all(a, b), all);
  EXPECT_TRUE(std::isnan(all.max_distance));
  EXPECT_TRUE(std::isnan(all.squared_distance));
}

TEST(MetricsTest, DecibelsAreWritten) {
  EXPECT_EQ(decibels_text(kInfinite), "exact");
  EXPECT_EQ(decibels_text(-kInfinite), "no signal");
  EXPECT_EQ(decibels_text(12.345), "12.3 dB");
  EXPECT_EQ(decibels_text(-0.26), "-0.3 dB");
}

}  // namespace
}  // namespace quarkq::numeric
