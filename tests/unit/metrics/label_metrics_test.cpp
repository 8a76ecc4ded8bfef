// SPDX-License-Identifier: MIT
// Perplexity, bits per label and F1 of logits, by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "calib/npy.h"
#include "unit/base/temp_folder.h"
#include "unit/metrics/scored.h"

namespace quarkq::metrics {
namespace {

using test::Scored;

Scored logits(const std::string& name, const std::vector<float>& values, ir::Shape dims = {}) {
  if (dims.empty()) dims = {1, static_cast<int64_t>(values.size())};
  return {name, ir::Tensor::from<float>(dims, values)};
}

std::vector<double> likelihood(const std::string& labels, const std::vector<Scored>& samples) {
  const test::TempFolder folder;
  return test::score({"perplexity", "bits"}, {.truth_path = folder.write("l.txt", labels)}, samples).value();
}

TEST(LikelihoodTest, IsTheMeanOverLabels) {
  // Probabilities 1/4 and 1/2: 1.5 bits on average.
  const auto found = likelihood("3\n0\n", {logits("a", {5, 5, 5, 5}), logits("b", {9, 9})});
  EXPECT_NEAR(found[0], std::exp2(1.5), 1e-12);
  EXPECT_NEAR(found[1], 1.5, 1e-12);
}

TEST(LikelihoodTest, ASampleMayHaveManyLabels) {
  // Rows of three classes with the odds 1 : 2 : 5.
  const float two = std::log(2.0F), five = std::log(5.0F);
  const auto found = likelihood("0\n", {logits("a", {0, two, five})});
  EXPECT_NEAR(found[0], 8, 1e-6);
  const test::TempFolder folder;
  const std::string path = folder / "l.npy";
  ASSERT_TRUE(calib::write_npy(path, ir::Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{1, 2})).ok());
  const Scored rows = logits("a", {0, two, five, 1, 1 + two, 1 + five}, {1, 2, 3});
  const double expected = -(std::log(2.0 / 8) + std::log(5.0 / 8)) / 2;
  EXPECT_NEAR(test::score({"perplexity"}, {.truth_path = path}, {rows}).value()[0], std::exp(expected), 1e-6);
}

TEST(LikelihoodTest, LargeLogitsDoNotOverflow) {
  EXPECT_NEAR(likelihood("0\n", {logits("a", {3e38F, -3e38F})})[0], 1, 1e-12);
  EXPECT_NEAR(likelihood("1\n", {logits("a", {1000, 0})})[1], 1000 / std::log(2.0), 1e-6);
}

TEST(LikelihoodTest, WhatIsNoNumberIsSeen) {
  EXPECT_TRUE(std::isnan(likelihood("0\n1\n", {logits("a", {NAN, 1}), logits("b", {0, 0})})[0]));
  EXPECT_TRUE(std::isnan(likelihood("0\n", {logits("a", {INFINITY, 1})})[0]));
  EXPECT_TRUE(std::isnan(likelihood("0\n", {logits("a", {-INFINITY, -INFINITY})})[1]));
  // Minus infinity is a class that cannot be: fine for others, infinitely surprising as the label.
  EXPECT_NEAR(likelihood("0\n", {logits("a", {3, 3, -INFINITY})})[1], 1, 1e-12);
  EXPECT_EQ(likelihood("2\n", {logits("a", {3, 3, -INFINITY})})[0], INFINITY);
}

TEST(LikelihoodTest, RefusesLabelsThatAreNoClass) {
  const test::TempFolder folder;
  const auto found = test::score({"bits"}, {.truth_path = folder.write("l.txt", "2\n")}, {logits("a", {1, 2})});
  EXPECT_EQ(found.status().code(), Code::kBadData);
  EXPECT_EQ(found.status().message(), "sample a: its label is 2, there are scores of 2 classes");
}

double f1(const std::string& labels, const std::vector<Scored>& samples) {
  const test::TempFolder folder;
  return test::score({"f1"}, {.truth_path = folder.write("l.txt", labels)}, samples).value()[0];
}

TEST(F1Test, IsTheMeanOverTheClassesThatOccur) {
  // Class 0: 1 of 2 found, none wrong: 2/3. Class 1: found, and once too often: 2/3. Class 2: chosen, never right: 0.
  // Class 3 is neither label nor chosen, and is left out.
  const auto chosen = [](int c) {
    std::vector<float> scores(4);
    scores[static_cast<size_t>(c)] = 1;
    return logits("s", scores);
  };
  EXPECT_NEAR(f1("0\n0\n1\n", {chosen(0), chosen(1), chosen(1)}), 2.0 / 3, 1e-12);
  EXPECT_NEAR(f1("0\n0\n1\n1\n", {chosen(0), chosen(1), chosen(1), chosen(2)}), (2.0 / 3 + 0.5 + 0) / 3, 1e-12);
  EXPECT_EQ(f1("3\n", {chosen(3)}), 1);
}

TEST(F1Test, OfEqualScoresTheFirstClassIsChosen) { EXPECT_EQ(f1("0\n", {logits("a", {1, 1})}), 1); }

TEST(F1Test, ScoresThatAreNoNumbersChooseNothing) {
  EXPECT_EQ(f1("0\n", {logits("a", {1, NAN})}), 0);
  EXPECT_NEAR(f1("0\n0\n", {logits("a", {1, NAN}), logits("b", {1, 0})}), 2.0 / 3, 1e-12);
}

}  // namespace
}  // namespace quarkq::metrics
