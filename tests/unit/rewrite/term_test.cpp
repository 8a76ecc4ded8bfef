// SPDX-License-Identifier: MIT
// Arithmetic on sizes that are known up to named dimensions: against the numbers that the names stand for.
#include "rewrite/simplify/scope.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace quarkq::rewrite::simplify {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();
const std::map<std::string, int64_t> kSizes = {{"a", 5}, {"b", 7}, {"c", 11}};

Term term(int64_t factor, std::vector<std::string> symbols = {}) { return {factor, std::move(symbols)}; }

int64_t value_of(const Term& x) {
  int64_t value = x.factor;
  for (const std::string& symbol : x.symbols) value *= kSizes.at(symbol);
  return value;
}

const std::vector<Term> kTerms = {term(0),
                                  term(1),
                                  term(-1),
                                  term(6),
                                  term(-6),
                                  term(1, {"a"}),
                                  term(2, {"a"}),
                                  term(-3, {"a"}),
                                  term(1, {"b"}),
                                  term(4, {"b"}),
                                  term(1, {"a", "b"}),
                                  term(6, {"a", "b"}),
                                  term(1, {"a", "a"}),
                                  term(12, {"a", "b", "c"})};

struct Operation {
  const char* name;
  MaybeTerm (*apply)(const MaybeTerm&, const MaybeTerm&);
  int64_t (*expected)(int64_t, int64_t);
};
const Operation kOperations[] = {{"add", add, [](int64_t x, int64_t y) { return x + y; }},
                                 {"subtract", subtract, [](int64_t x, int64_t y) { return x - y; }},
                                 {"multiply", multiply, [](int64_t x, int64_t y) { return x * y; }},
                                 {"divide", divide, [](int64_t x, int64_t y) { return x / y; }}};

TEST(TermTest, ResultsAreTheNumbersThatTheNamesStandFor) {
  size_t known = 0;
  for (const Operation& operation : kOperations) {
    for (const Term& x : kTerms) {
      for (const Term& y : kTerms) {
        const MaybeTerm found = operation.apply(x, y);
        if (!found) continue;
        ++known;
        EXPECT_EQ(value_of(*found), operation.expected(value_of(x), value_of(y)))
            << operation.name << " " << value_of(x) << " " << value_of(y);
        EXPECT_TRUE(std::is_sorted(found->symbols.begin(), found->symbols.end()));
        EXPECT_TRUE(found->factor != 0 || found->symbols.empty());
      }
    }
  }
  EXPECT_GT(known, 250u);
}

TEST(TermTest, WhatIsNoTermIsUnknown) {
  EXPECT_FALSE(add(term(1, {"a"}), term(1, {"b"})));
  EXPECT_FALSE(add(term(1, {"a"}), term(1)));
  EXPECT_FALSE(subtract(term(2, {"a"}), term(3)));
  EXPECT_FALSE(divide(term(7), term(2)));
  EXPECT_FALSE(divide(term(7), term(0)));
  EXPECT_FALSE(divide(term(4, {"a"}), term(2, {"b"})));
  EXPECT_FALSE(divide(term(4), term(2, {"b"})));
  for (const Operation& operation : kOperations) {
    EXPECT_FALSE(operation.apply(std::nullopt, term(1))) << operation.name;
    EXPECT_FALSE(operation.apply(term(1), std::nullopt)) << operation.name;
  }
}

TEST(TermTest, NumbersThatAreNoDimensionsGiveNothing) {
  for (const Operation& operation : kOperations) {
    for (const int64_t far : {kMax, kMin, int64_t{1} << 41, -(int64_t{1} << 41)}) {
      EXPECT_FALSE(operation.apply(term(far), term(3))) << operation.name << " " << far;
      EXPECT_FALSE(operation.apply(term(3), term(far))) << operation.name << " " << far;
    }
  }
  EXPECT_FALSE(multiply(term(int64_t{1} << 30), term(int64_t{1} << 30)));
  EXPECT_FALSE(multiply(multiply(term(int64_t{1} << 39), term(int64_t{1} << 39)), term(0)));
}

TEST(TermTest, DimensionsAndBack) {
  struct Row {
    ir::Dim dim;
    MaybeTerm term;
    ir::Dim back;
  };
  const Row rows[] = {
      {{3, ""}, term(3), {3, ""}},
      {{0, ""}, term(0), {0, ""}},
      {{-1, "batch"}, term(1, {"batch"}), {-1, "batch"}},
      {{-1, "2*batch"}, term(2, {"batch"}), {-1, "2*batch"}},
      {{-1, "b*a"}, term(1, {"a", "b"}), {-1, "a*b"}},
      {{-1, "3*b*2*a"}, term(6, {"a", "b"}), {-1, "6*a*b"}},
      {{-1, "0*a"}, term(0), {0, ""}},
      {{-1, "a-1"}, term(1, {"a-1"}), {-1, "a-1"}},
      {{-1, ""}, std::nullopt, {-1, ""}},
      {{-1, "9223372036854775807*9223372036854775807*a"}, std::nullopt, {-1, ""}},
      {{-1, "2000000000000*a"}, std::nullopt, {-1, ""}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.dim.symbol);
    EXPECT_EQ(term_of(row.dim), row.term);
    EXPECT_EQ(dim_of(row.term).size, row.back.size);
    EXPECT_EQ(dim_of(row.term).symbol, row.back.symbol);
  }
  EXPECT_FALSE(dim_of(term(-2)).known());
  EXPECT_TRUE(dim_of(term(-2, {"a"})).symbol.empty());
}

TEST(TermTest, WhatIsWrittenReadsTheSame) {
  for (const Term& x : kTerms) {
    if (x.factor < 0) continue;
    EXPECT_EQ(term_of(dim_of(x)), x);
  }
}

}  // namespace
}  // namespace quarkq::rewrite::simplify
