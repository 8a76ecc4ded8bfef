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

std::string place_text(std::string_view text, size_t offset) {
  const TextPlace place = place_of(text, offset);
  return std::to_string(place.line) + ":" + std::to_string(place.column);
}

TEST(ParseJsonTest, PlacesAreCountedFromOne) {
  EXPECT_EQ(place_text("", 0), "1:1");
  EXPECT_EQ(place_text("abc", 2), "1:3");
  EXPECT_EQ(place_text("a\nbc\n", 2), "2:1");
  EXPECT_EQ(place_text("a\nbc\n", 4), "2:3");
  EXPECT_EQ(place_text("a\nbc\n", 5), "3:1");
  EXPECT_EQ(place_text("abc", 1000), "1:4");
}

}  // namespace
}  // namespace quarkq
