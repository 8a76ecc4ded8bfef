// SPDX-License-Identifier: MIT
#include "base/parse_text.h"

#include <gtest/gtest.h>

#include <string>

namespace quarkq {
namespace {

TEST(ParseJsonTest, LevelsAreCountedOutsideOfStrings) {
  EXPECT_FALSE(is_nested_deeper("[[1], {\"a\": [2]}]", 3));
  EXPECT_TRUE(is_nested_deeper("[[1], {\"a\": [2]}]", 2));
  EXPECT_FALSE(is_nested_deeper("\"[[[[\"", 0));
  EXPECT_FALSE(is_nested_deeper("[\"\\\"[[\"]", 1));
  EXPECT_TRUE(is_nested_deeper("[\"\\\\\", [1]]", 1));
}

TEST(ParseJsonTest, BracketsWithoutAPartnerDoNoHarm) {
  EXPECT_FALSE(is_nested_deeper("]]]]", 1));
  EXPECT_FALSE(is_nested_deeper("\"\\", 1));
  EXPECT_TRUE(is_nested_deeper(std::string(100000, '['), kMostJsonLevels));
}

}  // namespace
}  // namespace quarkq
