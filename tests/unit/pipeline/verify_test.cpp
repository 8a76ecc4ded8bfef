// SPDX-License-Identifier: MIT
// Requirements, and what is said about tensors that lost their signal.
#include "pipeline/verify.h"

#include <gtest/gtest.h>

#include <limits>

#include "pipeline/compare_tensors.h"

namespace quarkq::pipeline {
namespace {

constexpr double kExact = std::numeric_limits<double>::infinity();

TEST(RequiredCosineTest, TheStrictestCounts) {
  EXPECT_FALSE(required_cosine({}).value().has_value());
  EXPECT_EQ(required_cosine({"cos>=0.9", "cos>=0.99", "cos>=0.5"}).value(), 0.99);
}

TEST(RequiredCosineTest, RefusesOthers) {
  for (const char* text : {"cos", "cos>=", "cos>=2", "cos>=0.9x", "cos>0.9", "sqnr>=10", "", "cos>=nan"}) {
    const auto found = required_cosine({text});
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(TensorAgreementTest, TheNoisiestComeFirst) {
  const std::vector<TensorAgreement> worst = worst_tensors({{"a", "n", 30}, {"b", "n", 5}, {"c", "n", kExact}}, 2);
  ASSERT_EQ(worst.size(), 2u);
  EXPECT_EQ(worst[0].name, "b");
  EXPECT_EQ(worst[1].name, "a");
}

TEST(TensorAgreementTest, CausesAreDropsOnly) {
  const std::vector<TensorAgreement> tensors = {
      {"fine", "n", 25, 25, kExact}, {"drop", "n", 4, 4, 25}, {"behind", "n", 3, 3, 4}, {"range", "n", 2, 30, 30}};
  const std::vector<TensorAgreement> causes = find_causes(tensors, 3);
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(describe(causes[0]), "drop of n: 4.0 dB behind 25.0 dB, by the operator or its weights");
  EXPECT_EQ(describe(causes[1]), "range of n: 2.0 dB behind 30.0 dB, by its own range");
}

}  // namespace
}  // namespace quarkq::pipeline
