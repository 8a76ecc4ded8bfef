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

TEST(ParseSizeTest, AcceptsBothCasesAndPowersOf1024) {
  const struct {
    const char* text;
    int64_t bytes;
  } rows[] = {{"300", 300},          {"300k", 300 << 10},     {"300K", 300 << 10}, {"26 kB", 26 << 10},
              {"800m", 800LL << 20}, {"1.5G", 3LL << 29},     {"1GiB", 1LL << 30}, {"1gb", 1LL << 30},
              {"100B", 100},         {"2t", int64_t{2} << 40}};
  for (const auto& row : rows) EXPECT_EQ(parse_size(row.text), row.bytes) << row.text;
  for (const char* text : {"", "much", "k", "-1k", "0", "0.5", "1x", "1kk", "1bb", "1kib2", "nan", "1e30", "99E"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(ExcerptTest, IsShortAndPrintable) {
  EXPECT_EQ(excerpt("a,b,5"), "a,b,5");
  EXPECT_EQ(excerpt("caf\xc3\xa9\t\xff\x93NUMPY"), "caf\xc3\xa9\\x09\\xff\\x93NUMPY");
  EXPECT_EQ(excerpt("\xe2\x82"), "\\xe2\\x82");
  const std::string cut = excerpt(std::string(500, '\xff'));
  EXPECT_LE(cut.size(), 70U);
  EXPECT_TRUE(cut.ends_with("\\xff...")) << cut;
}

}  // namespace
}  // namespace quarkq
