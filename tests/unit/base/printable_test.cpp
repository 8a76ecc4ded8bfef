// SPDX-License-Identifier: MIT
#include "base/strings.h"

#include <gtest/gtest.h>

namespace quarkq {
namespace {

TEST(PrintableTest, EscapesWhatControlsLinesAndTerminals) {
  const struct {
    const char *text, *printed;
  } rows[] = {
      {"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"},
      {"\x1b[31m\x7f", "\\x1b[31m\\x7f"},
      {"\xc2\x85\xc2\x9b", "\\x85\\x9b"},
      {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
      {"\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", "\\u202a\\u202e\\u2066\\u2069"},
  };
  for (const auto& row : rows) EXPECT_EQ(printable(row.text), row.printed);
}

TEST(PrintableTest, KeepsOtherText) {
  for (const char* text : {"", "conv1/weights:0", "\xc3\xa9\xc2\xa0",
                           "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", "\xe2\x80", "\xc2", "\xff"})
    EXPECT_EQ(printable(text), text);
}

}  // namespace
}  // namespace quarkq
