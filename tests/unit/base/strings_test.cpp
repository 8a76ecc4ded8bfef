// SPDX-License-Identifier: MIT
// Text helpers and name suggestions.
#include "base/strings.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace quarkq {
namespace {

TEST(StringsTest, CatPrintsItsArgumentsInOrder) { EXPECT_EQ(cat("a", 1, 'c', 2.5, std::string("d")), "a1c2.5d"); }

TEST(StringsTest, CatPrintsNumbersOfAllTypes) {
  EXPECT_EQ(cat(int8_t{-5}, ' ', uint8_t{200}, ' ', true, false), "-5 200 10");
  EXPECT_EQ(cat(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(cat(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(cat(0.1f, ' ', 1e-7, ' ', 1234567.0, ' ', 100.0), "0.1 1e-07 1.23457e+06 100");
  EXPECT_EQ(cat(-std::numeric_limits<double>::infinity(), ' ', std::numeric_limits<double>::quiet_NaN()), "-inf nan");
  EXPECT_EQ(cat(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(cat(-std::numeric_limits<double>::max()), "-1.79769e+308");
}

TEST(StringsTest, CatPrintsTextsWhole) {
  const char* const absent = nullptr;
  EXPECT_EQ(cat(std::string_view("a\0b", 3), absent, std::string()), std::string("a\0b", 3));
}

TEST(StringsTest, JoinAndSplit) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(std::vector<int>{7}, ", "), "7");
  EXPECT_EQ(join(std::vector<int>{}, ", "), "");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  EXPECT_EQ(split("x,", ','), (std::vector<std::string>{"x", ""}));
}

TEST(StringsTest, ShapesShowUnknownDimensions) {
  EXPECT_EQ(shape_text({1, 3, -1, 224}), "[1,3,?,224]");
  EXPECT_EQ(shape_text({}), "[]");
}

TEST(StringsTest, BytesAreForPeople) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(812), "812 B");
  EXPECT_EQ(bytes_text(1000), "1.0 kB");
  EXPECT_EQ(bytes_text(3.44e6), "3.4 MB");
  EXPECT_EQ(bytes_text(2e9), "2.0 GB");
  EXPECT_EQ(bytes_text(5e15), "5000.0 TB");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(999949), "999.9 kB");
  EXPECT_EQ(bytes_text(999950), "1.0 MB") << "what is rounded to 1000 has the next unit";
  EXPECT_EQ(bytes_text(999999999), "1.0 GB");
}

TEST(SuggestTest, FindsTheNearestName) {
  const std::vector<std::string> names = {"quantize", "run", "evaluate", "inspect"};
  EXPECT_EQ(nearest_name("quantise", names), "quantize");
  EXPECT_EQ(nearest_name("QUANTIZE", names), "quantize");  // case is ignored
  EXPECT_EQ(nearest_name("evalaute", names), "evaluate");
  EXPECT_EQ(nearest_name("ru", names), "run");
  EXPECT_EQ(nearest_name("banana", names), "");
  EXPECT_EQ(nearest_name("run", {}), "");
}

TEST(SuggestTest, TheFirstOfEquallyNearNamesWins) { EXPECT_EQ(nearest_name("A8W9", {"A8W8", "A8W4"}), "A8W8"); }

TEST(SuggestTest, SaysNothingWithoutAGuess) {
  EXPECT_EQ(did_you_mean("insepct", {"inspect"}), ", did you mean inspect?");
  EXPECT_EQ(did_you_mean("zzzzzz", {"inspect"}), "");
}

TEST(StatusTest, CodesHaveTheirExitCodes) {
  const std::pair<Code, int> rows[] = {
      {Code::kOk, 0},          {Code::kInternal, 1},     {Code::kIo, 1},           {Code::kInvalidArgument, 2},
      {Code::kUnsupported, 3}, {Code::kCorruptModel, 3}, {Code::kBadData, 4},      {Code::kQualityGate, 5},
      {Code::kNpuLimit, 6},    {Code::kResource, 7},     {Code::kInterrupted, 130}};
  for (const auto& [code, number] : rows) EXPECT_EQ(exit_code(code), number);
}

TEST(StatusTest, ContextIsPutInFront) {
  EXPECT_EQ(bad_data("x is wrong").context("file f").message(), "file f: x is wrong");
  EXPECT_TRUE(Status().context("file f").message().empty());
  EXPECT_EQ(Result<int>(bad_data("no")).context("here").status().message(), "here: no");
  EXPECT_EQ(Result<int>(3).context("here").value(), 3);
}

/// A name with one slip is still found, whatever the slip is.
TEST(SuggestTest, OneSlipIsForgivenAnywhere) {
  const std::vector<std::string> names = {"calibrate_method", "include_cle", "SmoothAlpha", "weights_only"};
  for (const std::string& name : names) {
    for (size_t at = 0; at < name.size(); ++at) {
      std::string left_out = name, doubled = name, other = name;
      left_out.erase(at, 1);
      doubled.insert(at, 1, name[at]);
      other[at] = '#';
      for (const std::string& slip : {left_out, doubled, other}) EXPECT_EQ(nearest_name(slip, names), name) << slip;
    }
  }
}

TEST(StringsTest, LowerCaseChangesLettersOfAsciiAlone) {
  EXPECT_EQ(lower_case("AZaz[@09_ExecutionProvider"), "azaz[@09_executionprovider");
  EXPECT_EQ(lower_case("\xC3\x84"), "\xC3\x84");
  EXPECT_EQ(lower_case(""), "");
}

TEST(SuggestTest, ShortNamesNeedMoreThanTheirLength) {
  EXPECT_EQ(nearest_name("x", {"y"}), "y");
  EXPECT_EQ(nearest_name("x", {"abc"}), "");
  EXPECT_EQ(nearest_name("abc", {"xyz"}), "");
  EXPECT_EQ(nearest_name("abcdefghi", {"abcdefzzzz"}), "abcdefzzzz");
  EXPECT_EQ(nearest_name("abcdefghi", {"abcdzzzzz"}), "");
}

}  // namespace
}  // namespace quarkq
