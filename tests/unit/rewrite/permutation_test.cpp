// SPDX-License-Identifier: MIT
// Orders of dimensions: every one of up to four, against their definition element by element.
#include "rewrite/optimize/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/strings.h"
#include "support/op_checks.h"

namespace quarkq::rewrite::basic {
namespace {

std::vector<Permutation> all_of_rank(int64_t rank) {
  Permutation order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::vector<Permutation> all;
  do all.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return all;
}

TEST(PermutationTest, InverseUndoes) {
  for (int64_t rank = 0; rank <= 4; ++rank) {
    for (const Permutation& order : all_of_rank(rank)) {
      EXPECT_TRUE(is_identity(compose(order, inverse(order)))) << testing::PrintToString(order);
      EXPECT_TRUE(is_identity(compose(inverse(order), order))) << testing::PrintToString(order);
      EXPECT_EQ(inverse(inverse(order)), order);
    }
  }
}

TEST(PermutationTest, ComposeIsOneAfterTheOther) {
  const std::vector<int64_t> dims = {2, 3, 5, 7};
  for (const Permutation& first : all_of_rank(4)) {
    for (const Permutation& second : all_of_rank(4))
      EXPECT_EQ(permuted(dims, compose(first, second)), permuted(permuted(dims, first), second));
  }
}

/// Removing output dimensions, then turning, is turning, then removing.
TEST(PermutationTest, WithoutAxesIsTheOrderOfWhatIsLeft) {
  const std::vector<int64_t> dims = {2, 3, 5, 7};
  for (const Permutation& order : all_of_rank(4)) {
    for (int mask = 0; mask < 16; ++mask) {
      std::vector<int64_t> axes, kept_before, kept_after;
      for (int64_t i = 0; i < 4; ++i) {
        if ((mask >> i & 1) != 0) axes.push_back(i);
      }
      const auto is_dropped = [&](int64_t output) { return (mask >> output & 1) != 0; };
      const std::vector<int64_t> turned = permuted(dims, order), back = inverse(order);
      for (int64_t i = 0; i < 4; ++i) {
        if (!is_dropped(i)) kept_after.push_back(turned[static_cast<size_t>(i)]);
        if (!is_dropped(back[static_cast<size_t>(i)])) kept_before.push_back(dims[static_cast<size_t>(i)]);
      }
      EXPECT_EQ(permuted(kept_before, without_axes(order, axes)), kept_after)
          << testing::PrintToString(order) << " " << mask;
    }
  }
}

TEST(PermutationTest, WithAxesPutsNewDimensionsWhereTheyAre) {
  for (const Permutation& order : all_of_rank(3)) {
    for (int64_t first = 0; first < 5; ++first) {
      for (int64_t second = 0; second < 5; ++second) {
        if (first == second) continue;
        const Permutation grown = with_axes(order, {first, second});
        EXPECT_TRUE(std::is_permutation(grown.begin(), grown.end(), Permutation{0, 1, 2, 3, 4}.begin()));
        EXPECT_EQ(grown[static_cast<size_t>(first)], first);
        EXPECT_EQ(grown[static_cast<size_t>(second)], second);
        EXPECT_EQ(without_axes(grown, {first, second}), order) << testing::PrintToString(grown);
      }
    }
  }
}

TEST(PermutationTest, TensorsOfEveryWidthAreMoved) {
  for (const ElementType type :
       {ElementType::kUInt8, ElementType::kFloat16, ElementType::kFloat, ElementType::kInt64}) {
    const ir::Tensor x = test::as_type(test::random_floats({2, 3, 4}, -60, 60), type);
    for (const Permutation& order : all_of_rank(3)) {
      const std::optional<ir::Tensor> y = permuted(x, order);
      ASSERT_TRUE(y.has_value());
      EXPECT_EQ(y->type(), type);
      EXPECT_EQ(y->dims(), permuted(x.dims(), order));
      const std::vector<double> from = test::values(x), to = test::values(*y);
      size_t next = 0;
      test::for_each_index(y->dims(), [&](const ir::Shape& index) {
        ir::Shape source(3);
        for (size_t i = 0; i < 3; ++i) source[static_cast<size_t>(order[i])] = index[i];
        EXPECT_EQ(to[next++], from[static_cast<size_t>((source[0] * 3 + source[1]) * 4 + source[2])]);
      });
    }
  }
}

TEST(PermutationTest, EmptyTensorsAndScalarsStay) {
  EXPECT_EQ(permuted(test::floats({0, 3}, {}), {1, 0})->dims(), (ir::Shape{3, 0}));
  EXPECT_EQ(test::values(*permuted(test::floats({}, {4}), {})), (std::vector<double>{4}));
}

TEST(PermutationTest, RefusesOtherRanksAndTypesWithoutWholeBytes) {
  EXPECT_FALSE(permuted(test::floats({2, 2}, {1, 2, 3, 4}), {0}).has_value());
  EXPECT_FALSE(permuted(ir::Tensor::zeros(ElementType::kInt4, {2, 2}), {1, 0}).has_value());
  ir::ValueType type;
  type.element = ElementType::kFloat;
  type.has_shape = true;
  type.dims = {{2, ""}, {-1, "n"}};
  EXPECT_EQ(permuted(type, {1, 0}).dims[0].symbol, "n");
  EXPECT_FALSE(permuted(type, {0}).has_shape);
  EXPECT_TRUE(permuted(type, {0}).dims.empty());
}

}  // namespace
}  // namespace quarkq::rewrite::basic
