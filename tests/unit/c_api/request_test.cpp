// SPDX-License-Identifier: MIT
// Members of a request: which JSON each C++ type takes, at the ends of its range, and what is left untaken.
#include "c_api/request.h"

#include <gtest/gtest.h>

#include <limits>

namespace quarkq::c_api {
namespace {

/// Takes "key" as a T; the failure's message, or "".
template <typename T>
std::string take(const std::string& value, T& member) {
  Result<Request> request = Request::parse("verb", ("{\"key\": " + value + "}").c_str());
  if (!request.ok()) return "no JSON: " + request.status().message();
  request.value().take("key", member);
  return request.value().finish().message();
}

struct Row {
  const char* value;
  bool is_taken;
};

template <typename T>
void expect_rows(const std::vector<Row>& rows, const char* allowed) {
  for (const Row& row : rows) {
    T member{};
    const std::string said = take(row.value, member);
    if (row.is_taken) {
      EXPECT_EQ(said, "") << row.value;
      continue;
    }
    EXPECT_TRUE(said.starts_with("verb: key: found ")) << row.value << ": " << said;
    EXPECT_TRUE(said.ends_with(allowed)) << row.value << ": " << said;
    EXPECT_EQ(member, T{}) << row.value << ": a refused value changes nothing";
  }
}

TEST(RequestTest, EveryTypeTakesWhatItHolds) {
  expect_rows<std::string>(
      {{"\"a\"", true}, {"\"\"", true}, {"null", true}, {"1", false}, {"[]", false}, {"{}", false}}, "a text");
  expect_rows<bool>({{"true", true}, {"false", true}, {"0", false}, {"1", false}, {"\"true\"", false}},
                    "true or false");
  expect_rows<int>({{"0", true},
                    {"-2147483647", true},
                    {"2147483647", true},
                    {"2147483648", false},
                    {"-2147483648", false},
                    {"-9223372036854775808", false},
                    {"18446744073709551615", false},
                    {"1.0", false},
                    {"1e3", false},
                    {"\"1\"", false},
                    {"true", false}},
                   "an integer of 32 bits");
  expect_rows<uint64_t>({{"0", true}, {"18446744073709551615", true}, {"-1", false}, {"0.5", false}, {"\"7\"", false}},
                        "an integer from 0 on");
  expect_rows<double>(
      {{"0", true}, {"-1.5e300", true}, {"18446744073709551615", true}, {"\"1\"", false}, {"true", false}}, "a number");
  expect_rows<std::vector<std::string>>({{"[]", true},
                                         {"[\"a\", \"\"]", true},
                                         {"[\"a\", 1]", false},
                                         {"\"a\"", false},
                                         {"{\"a\": \"b\"}", false},
                                         {"[null]", false}},
                                        "a list of texts");
  expect_rows<std::vector<int>>(
      {{"[]", true}, {"[1, -5]", true}, {"[1, 2.5]", false}, {"[2147483648]", false}, {"5", false}, {"[[1]]", false}},
      "a list of integers");
}

TEST(RequestTest, ValuesArriveUnchanged) {
  int64_t wide = 0;
  EXPECT_EQ(take("-9223372036854775808", wide), "");
  EXPECT_EQ(wide, std::numeric_limits<int64_t>::min());
  uint64_t largest = 0;
  EXPECT_EQ(take("18446744073709551615", largest), "");
  EXPECT_EQ(largest, std::numeric_limits<uint64_t>::max());
  double real = 0;
  EXPECT_EQ(take("0.1", real), "");
  EXPECT_EQ(real, 0.1);
  std::string text;
  EXPECT_EQ(take(R"("gr\u00fcn \"x\"")", text), "");
  EXPECT_EQ(text, "gr\xC3\xBCn \"x\"");
  std::vector<int> numbers = {9};
  EXPECT_EQ(take("null", numbers), "");
  EXPECT_EQ(numbers, std::vector<int>{9}) << "null keeps the default";
}

TEST(RequestTest, SignedNumbersBeyond64BitsAreRefused) {
  int64_t wide = 7;
  EXPECT_EQ(take("9223372036854775808", wide),
            "verb: key: found 9223372036854775808, allowed is an integer of 64 bits");
  EXPECT_EQ(wide, 7);
}

TEST(RequestTest, OnlyObjectsAreRequests) {
  for (const char* text : {"", " ", "null", "[]", "1", "\"{}\"", "{", "{}}", "{\"a\":}", "{'a': 1}", "\xFF"}) {
    const Result<Request> refused = Request::parse("inspect", text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(refused.status().message(), "inspect: the request is not a JSON object");
  }
  EXPECT_FALSE(Request::parse("inspect", nullptr).ok());
  EXPECT_TRUE(Request::parse("inspect", "{}").value().finish().ok());
}

TEST(RequestTest, TheFirstFailureIsTold) {
  Result<Request> request = Request::parse("run", R"({"a": 1, "b": 2, "c": 3})");
  ASSERT_TRUE(request.ok());
  std::string a, b;
  request.value().take("b", b).take("a", a);
  EXPECT_EQ(request.value().finish().message(), "run: b: found 2, allowed is a text");
}

TEST(RequestTest, WhatNobodyTakesIsNamed) {
  Result<Request> request = Request::parse("run", R"({"taken": "x", "unknown": null})");
  std::string taken;
  request.value().take("taken", taken).take("absent", taken);
  EXPECT_EQ(taken, "x");
  EXPECT_EQ(request.value().finish().message(), "run: unknown is unknown in a request");
}

TEST(RequestTest, DeepNestingIsNoCrash) {
  std::string deep = "{\"a\": ";
  for (int i = 0; i < 20000; ++i) deep += '[';
  EXPECT_FALSE(Request::parse("run", deep.c_str()).ok());
}

}  // namespace
}  // namespace quarkq::c_api
