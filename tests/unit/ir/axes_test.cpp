// SPDX-License-Identifier: MIT
#include "ir/shape.h"

#include <gtest/gtest.h>

#include <limits>

namespace quarkq::ir {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(), kHighest = std::numeric_limits<int64_t>::max();

TEST(AxesTest, NormalizesListsInTheOrderGiven) {
  EXPECT_EQ(normalize_axes(Ints{-1, 0}, 3).value(), (Ints{2, 0}));
  EXPECT_EQ(normalize_axes(Ints{}, 0).value(), Ints{});
}

TEST(AxesTest, RefusesAxesThatAreOutsideOrComeTwice) {
  for (const Ints& axes : {Ints{3}, Ints{-4}, Ints{kLowest}, Ints{kHighest}, Ints{1, 1}, Ints{0, -3}}) {
    EXPECT_FALSE(normalize_axes(axes, 3).ok()) << join(axes, ",");
  }
  EXPECT_EQ(normalize_axes(Ints{0, -3}, 3).status().message(), "axis -3 is named twice");
  EXPECT_FALSE(normalize_axes(Ints{0}, 0).ok());
}

TEST(AxesTest, TellsPermutationsFromOtherLists) {
  EXPECT_TRUE(is_permutation(Ints{}));
  EXPECT_TRUE(is_permutation(Ints{1, 2, 0}));
  for (const Ints& order :
       {Ints{1}, Ints{0, 0}, Ints{0, -1}, Ints{0, 1073741824}, Ints{kLowest, 0}, Ints{kHighest, 0}}) {
    EXPECT_FALSE(is_permutation(order)) << join(order, ",");
  }
}

TEST(AxesTest, RefusesPermutationsOfAnotherRank) {
  EXPECT_TRUE(check_permutation(Ints{1, 0}, 2).ok());
  EXPECT_FALSE(check_permutation(Ints{1, 0}, 3).ok());
  EXPECT_EQ(check_permutation(Ints{-1, 0}, 2).message(), "[-1,0] does not name each of 2 dimensions once");
}

TEST(AxesTest, AddsWhatFits) {
  EXPECT_EQ(checked_sum(2, -5), -3);
  EXPECT_EQ(checked_sum(kHighest, 0), kHighest);
  EXPECT_EQ(checked_sum(kHighest, 1), std::nullopt);
  EXPECT_EQ(checked_sum(kLowest, -1), std::nullopt);
}

}  // namespace
}  // namespace quarkq::ir
