// SPDX-License-Identifier: MIT
#include "base/parse_text.h"

#include <gtest/gtest.h>

namespace quarkq {
namespace {

TEST(ParseFiniteTest, TakesAWholeNumberAndNothingElse) {
  EXPECT_EQ(parse_finite("0.5"), 0.5);
  EXPECT_EQ(parse_finite("-1e3"), -1000);
  for (const char* text : {"", " 1", "1 ", "+1", "1,5", "x", "nan", "inf", "-inf", "1e999"})
    EXPECT_FALSE(parse_finite(text)) << text;
}

}  // namespace
}  // namespace quarkq
