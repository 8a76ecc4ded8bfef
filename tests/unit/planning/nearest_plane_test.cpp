// SPDX-License-Identifier: MIT
// Compensated rounding on matrices: against rounding to nearest, against the best of all roundings, and on inputs that
// tell nothing.
#include "planning/round/nearest_plane.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "numeric/encode.h"
#include "support/every_isa.h"

namespace quarkq::planning {
namespace {

using numeric::Gram;
using test::random_values;

constexpr numeric::IntegerRange kInt8{-128, 127};

/// Rows whose values all follow one signal, as channels after a Relu do, and some noise of their own.
std::vector<float> correlated_rows(int64_t rows, int64_t depth, uint32_t seed) {
  const std::vector<float> common = random_values(rows, seed, 0, 2), own = random_values(rows * depth, seed + 1, 0, 1);
  std::vector<float> values(own);
  for (int64_t i = 0; i < rows * depth; ++i) values[static_cast<size_t>(i)] += common[static_cast<size_t>(i / depth)];
  return values;
}

std::vector<int32_t> nearest(const RoundingProblem& problem, int64_t depth) {
  return numeric::encode(problem.weights, {1, static_cast<int64_t>(problem.params.size()), depth}, problem.params,
                         problem.limits);
}

/// Sum over rows and outputs of the squared error of the weighted sums.
double error_of(const RoundingProblem& problem, const std::vector<int32_t>& codes, const std::vector<float>& rows,
                int64_t depth) {
  double error = 0;
  for (size_t o = 0; o < problem.params.size(); ++o) {
    for (size_t r = 0; r < rows.size(); r += static_cast<size_t>(depth)) {
      double sum = 0;
      for (size_t k = 0; k < static_cast<size_t>(depth); ++k) {
        const size_t at = o * static_cast<size_t>(depth) + k;
        const double stored = static_cast<double>(codes[at] - problem.params[o].zero_point) *
                              static_cast<double>(problem.params[o].scale);
        sum += (static_cast<double>(problem.weights[at]) - stored) * static_cast<double>(rows[r + k]);
      }
      error += sum * sum;
    }
  }
  return error;
}

Gram gram_of(const std::vector<float>& rows, int64_t depth) {
  Gram gram(depth);
  gram.add(rows, static_cast<int64_t>(rows.size()) / depth);
  return gram;
}

TEST(NearestPlaneTest, InputsThatAreIndependentGiveTheNearestCodes) {
  constexpr int64_t kDepth = 40;
  const std::vector<float> weights = random_values(3 * kDepth, 5);
  const RoundingProblem problem{weights, {{0.05f, 0}, {0.1f, 3}, {0.2f, -7}}, kInt8};
  std::vector<float> rows(static_cast<size_t>(kDepth * kDepth), 0.0f);  // one input at a time
  for (int64_t i = 0; i < kDepth; ++i) rows[static_cast<size_t>(i * kDepth + i)] = 1;
  EXPECT_EQ(round_to_nearest_plane(problem, factor_of(gram_of(rows, kDepth))), nearest(problem, kDepth));
}

TEST(NearestPlaneTest, ErrorsOfCorrelatedInputsAreFarSmaller) {
  for (const int64_t depth : {9, 32, 33, 100}) {
    for (uint32_t seed = 1; seed <= 5; ++seed) {
      const std::vector<float> weights = random_values(6 * depth, seed, -1, 1),
                               rows = correlated_rows(500, depth, seed);
      const RoundingProblem problem{weights, std::vector<numeric::QuantParams>(6, {0.1f, 0}), kInt8};
      const double plain = error_of(problem, nearest(problem, depth), rows, depth);
      const double found =
          error_of(problem, round_to_nearest_plane(problem, factor_of(gram_of(rows, depth))), rows, depth);
      EXPECT_LT(found, 0.5 * plain) << "depth " << depth << ", seed " << seed;
    }
  }
}

/// All roundings up and down of few weights: the result must be close to the best of them.
TEST(NearestPlaneTest, IsCloseToTheBestOfAllRoundings) {
  constexpr int64_t kDepth = 8;
  double found = 0, best = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const std::vector<float> weights = random_values(kDepth, seed, -1, 1), rows = correlated_rows(200, kDepth, seed);
    const RoundingProblem problem{weights, {{0.25f, 0}}, kInt8};
    found += error_of(problem, round_to_nearest_plane(problem, factor_of(gram_of(rows, kDepth))), rows, kDepth);
    double least = std::numeric_limits<double>::infinity();
    for (int choice = 0; choice < 1 << kDepth; ++choice) {
      std::vector<int32_t> codes(kDepth);
      for (size_t k = 0; k < kDepth; ++k)
        codes[k] = static_cast<int32_t>(std::floor(weights[k] / 0.25f)) + (choice >> k & 1);
      least = std::min(least, error_of(problem, codes, rows, kDepth));
    }
    best += least;
  }
  EXPECT_LT(found, 3 * best);
}

TEST(NearestPlaneTest, CodesStayWithinTheLimits) {
  constexpr int64_t kDepth = 50;
  const std::vector<float> weights = random_values(2 * kDepth, 3, -10, 10), rows = correlated_rows(100, kDepth, 3);
  const RoundingProblem problem{weights, {{0.01f, 0}, {0.5f, 5}}, {-127, 127}};
  for (const int32_t code : round_to_nearest_plane(problem, factor_of(gram_of(rows, kDepth)))) {
    EXPECT_GE(code, -127);
    EXPECT_LE(code, 127);
  }
}

TEST(NearestPlaneTest, FewerRowsThanInputsAreEnough) {
  constexpr int64_t kDepth = 80;
  const std::vector<float> weights = random_values(4 * kDepth, 9, -1, 1), rows = correlated_rows(10, kDepth, 9);
  const RoundingProblem problem{weights, std::vector<numeric::QuantParams>(4, {0.1f, 0}), kInt8};
  const double plain = error_of(problem, nearest(problem, kDepth), rows, kDepth);
  EXPECT_LT(error_of(problem, round_to_nearest_plane(problem, factor_of(gram_of(rows, kDepth))), rows, kDepth), plain);
}

TEST(NearestPlaneTest, InputsThatTellNothingGiveTheNearestCodes) {
  constexpr int64_t kDepth = 5;
  const std::vector<float> weights = random_values(2 * kDepth, 4);
  const RoundingProblem problem{weights, {{0.1f, 0}, {0.1f, 1}}, kInt8};
  const std::vector<int32_t> plain = nearest(problem, kDepth);
  EXPECT_EQ(round_to_nearest_plane(problem, factor_of(Gram(kDepth))), plain);
  for (const float value : {0.0f, test::kNan, test::kInfinity, 1e30f})
    EXPECT_EQ(round_to_nearest_plane(problem, factor_of(gram_of(std::vector<float>(2 * kDepth, value), kDepth))), plain)
        << value;
}

TEST(NearestPlaneTest, WeightsThatAreNoNumbersGetACodeWithinTheLimits) {
  const std::vector<float> weights = {test::kNan, test::kInfinity, 1, -test::kInfinity};
  const RoundingProblem problem{weights, {{0.1f, 0}}, kInt8};
  for (const int32_t code : round_to_nearest_plane(problem, factor_of(gram_of(correlated_rows(20, 4, 1), 4)))) {
    EXPECT_GE(code, -128);
    EXPECT_LE(code, 127);
  }
}

}  // namespace
}  // namespace quarkq::planning
