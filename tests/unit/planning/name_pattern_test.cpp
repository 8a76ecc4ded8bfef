// SPDX-License-Identifier: MIT
#include "planning/select/name_pattern.h"

#include <gtest/gtest.h>

namespace quarkq::planning {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  return NamePattern::parse(pattern).value().matches(name);
}

std::string refusal(const std::string& pattern) {
  const Result<NamePattern> parsed = NamePattern::parse(pattern);
  return parsed.ok() ? "" : parsed.status().message();
}

TEST(NamePatternTest, MatchesPartsOfNames) {
  EXPECT_TRUE(matches("^conv1.*", "conv1"));
  EXPECT_TRUE(matches("^conv[0-9]+_(weight|bias).*$", "conv12_bias_q"));
  EXPECT_FALSE(matches("^conv1.*", "a/conv1"));
  EXPECT_TRUE(matches("^(?!head).*conv", "body/conv"));
  EXPECT_FALSE(matches("^(?!head).*conv", "head/conv"));
}

TEST(NamePatternTest, RefusesByName) {
  EXPECT_NE(refusal("^(.*"), "");
  EXPECT_NE(refusal("^[z-a].*"), "");
  EXPECT_EQ(refusal("^(a)\\1.*"), "pattern '^(a)\\1.*' refers to a group, which is not supported");
}

TEST(NamePatternTest, LongNamesTakeNoStack) {
  EXPECT_FALSE(matches("^a.*b", std::string(1'000'000, 'a')));
  EXPECT_TRUE(matches("^a.*b", std::string(1'000'000, 'a') + "b"));
}

TEST(NamePatternTest, RepetitionsWithinRepetitionsEnd) {
  EXPECT_FALSE(matches("^(a*)*b.*", std::string(2000, 'a')));
  EXPECT_FALSE(matches("^((a|a)*)*$.*", std::string(2000, 'a') + "!"));
}

TEST(NamePatternTest, RefusesPatternsThatAreTooLarge) {
  const std::string deep = std::string(100'000, '(') + "a" + std::string(100'000, ')') + ".*";
  EXPECT_NE(refusal(deep).find("has 200003 bytes, allowed are 1000"), std::string::npos);
  EXPECT_TRUE(matches(std::string(400, '(') + "a" + std::string(400, ')') + ".*", "a"));
  EXPECT_NE(refusal("^((a?){100}){400}.*"), "");
}

}  // namespace
}  // namespace quarkq::planning
