// SPDX-License-Identifier: MIT
// Entropy's distance of counts from their quantized form, against the definition of ref:calibration#entropy written as
// loops in double.
#include "calib/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace quarkq::calib {
namespace {

using Counts = std::vector<int64_t>;

/// Empty bins get a little of the others; nothing when all are empty.
std::vector<double> smoothed(const std::vector<double>& counts) {
  double zeros = 0;
  for (const double count : counts) zeros += count == 0;
  const double others = static_cast<double>(counts.size()) - zeros;
  if (others == 0) return {};
  std::vector<double> parts;
  double total = 0;
  for (const double count : counts) {
    parts.push_back(count == 0 ? 0.0001 : count - 0.0001 * zeros / others);
    total += parts.back();
  }
  for (double& part : parts) part /= total;
  return parts;
}

double expected_divergence(const Counts& counts, size_t begin, size_t end, size_t bins) {
  std::vector<double> clipped(counts.begin() + static_cast<std::ptrdiff_t>(begin),
                              counts.begin() + static_cast<std::ptrdiff_t>(end));
  const std::vector<double> inside = clipped;
  for (size_t i = 0; i < begin; ++i) clipped.front() += static_cast<double>(counts[i]);
  for (size_t i = end; i < counts.size(); ++i) clipped.back() += static_cast<double>(counts[i]);
  std::vector<double> expanded(clipped.size(), 0);
  const size_t width = clipped.size() / bins;
  for (size_t slice = 0; slice < bins && width > 0; ++slice) {
    const size_t from = slice * width, to = from + width, last = slice == bins - 1 ? clipped.size() : to;
    double total = 0, holding = 0;
    for (size_t i = from; i < last; ++i) total += inside[i];
    for (size_t i = from; i < to; ++i) holding += clipped[i] != 0;
    for (size_t i = from; i < to && holding > 0; ++i) expanded[i] = std::floor(total / holding);
  }
  const std::vector<double> p = smoothed(clipped), q = smoothed(expanded);
  if (p.empty() || q.empty()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += p[i] * std::log(p[i] / q[i]);
  return sum;
}

Counts random_counts(size_t size, uint32_t seed, double empty) {
  std::mt19937 generator(seed);
  std::bernoulli_distribution is_empty(empty);
  std::poisson_distribution<int64_t> count(40);
  Counts counts(size);
  for (int64_t& one : counts) one = is_empty(generator) ? 0 : count(generator);
  return counts;
}

TEST(DivergenceTest, IsTheDefinitionOnEveryRange) {
  for (const double empty : {0.0, 0.2, 0.6}) {
    const Counts counts = random_counts(64, 7, empty);
    for (const size_t bins : {1u, 4u, 7u, 16u}) {
      DivergenceSearch search(counts, static_cast<int64_t>(bins));
      for (size_t begin = 0; begin < 20; begin += 3) {
        for (size_t end = begin + bins; end <= counts.size(); end += 5) {
          const auto found = search.divergence(static_cast<int64_t>(begin), static_cast<int64_t>(end));
          ASSERT_TRUE(found.ok()) << found.status().message();
          const double expected = expected_divergence(counts, begin, end, bins);
          if (std::isinf(expected)) {
            EXPECT_TRUE(std::isinf(found.value()));
          } else {
            EXPECT_NEAR(static_cast<double>(found.value()), expected, 2e-5 * std::max(1.0, std::abs(expected)))
                << bins << " bins, " << begin << " to " << end;
          }
        }
      }
    }
  }
}

TEST(DivergenceTest, AsManyBinsAsCountsLoseNothing) {
  const Counts counts = random_counts(32, 9, 0);
  DivergenceSearch search(counts, 32);
  EXPECT_NEAR(search.divergence(0, 32).value(), 0, 1e-7f);
}

TEST(DivergenceTest, CallsDoNotDependOnTheOnesBefore) {
  const Counts counts = random_counts(48, 3, 0.3);
  DivergenceSearch search(counts, 8);
  const float first = search.divergence(4, 40).value();
  for (int64_t begin = 0; begin < 8; ++begin) EXPECT_TRUE(search.divergence(begin, 48).ok());
  EXPECT_EQ(search.divergence(4, 40).value(), first);
}

TEST(DivergenceTest, NoCountsAreInfinitelyFar) {
  DivergenceSearch empty(Counts(16, 0), 4);
  EXPECT_TRUE(std::isinf(empty.divergence(0, 16).value()));
  DivergenceSearch narrow(random_counts(16, 1, 0), 8);  // fewer bins in the range than the quantized form has
  EXPECT_TRUE(std::isinf(narrow.divergence(4, 8).value()));
}

TEST(DivergenceTest, TooManyEmptyBinsAreAnError) {
  Counts counts(20001, 0);
  counts[10000] = 5;
  DivergenceSearch search(counts, 1);
  const auto found = search.divergence(0, 20001);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), Code::kBadData);
}

}  // namespace
}  // namespace quarkq::calib
