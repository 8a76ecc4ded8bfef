// SPDX-License-Identifier: MIT
// Products of float matrices against sums in double.
#include "numeric/product_loops.h"

#include <gtest/gtest.h>

#include "support/every_isa.h"

namespace quarkq::numeric {
namespace {

using test::random_values;

TEST(GramTest, SumsProductsOverAllCalls) {
  for (const int64_t depth : {1, 3, 9, 31, 32, 33, 70}) {
    const std::vector<float> first = random_values(5 * depth, 1), second = random_values(2 * depth, 2);
    Gram gram(depth);
    gram.add(first, 5);
    gram.add(second, 2);
    for (int64_t i = 0; i < depth; ++i) {
      for (int64_t k = i; k < depth; ++k) {
        double sum = 0;
        for (int64_t r = 0; r < 5; ++r)
          sum += static_cast<double>(first[static_cast<size_t>(r * depth + i)]) *
                 static_cast<double>(first[static_cast<size_t>(r * depth + k)]);
        for (int64_t r = 0; r < 2; ++r)
          sum += static_cast<double>(second[static_cast<size_t>(r * depth + i)]) *
                 static_cast<double>(second[static_cast<size_t>(r * depth + k)]);
        ASSERT_NEAR(gram.at(i, k), sum, 1e-4) << depth << ": " << i << ", " << k;
      }
    }
    const Gram kept = gram;
    const std::vector<float> whole = gram.take();
    for (int64_t i = 0; i < depth; ++i) {
      for (int64_t k = i; k < depth; ++k) {
        ASSERT_EQ(whole[static_cast<size_t>(i * depth + k)], kept.at(i, k));
        ASSERT_EQ(whole[static_cast<size_t>(k * depth + i)], kept.at(i, k));
      }
    }
  }
}

TEST(ProductLoopsTest, AddAFactorTimesTheProductOnEveryIsa) {
  for (const int64_t columns : {1, 31, 32, 65}) {
    const ProductShape shape{7, columns, 11};
    const std::vector<float> left = random_values(int64_t{11} * 9, 1), right = random_values(11 * columns, 2);
    const auto check = [&](auto function) {
      std::vector<float> sum(static_cast<size_t>(7 * columns), 1.0f);
      function(MatrixPart{sum.data(), columns}, ConstMatrixPart{left.data(), 9}, ConstMatrixPart{right.data(), columns},
               shape, -0.5f);
      for (int64_t i = 0; i < 7; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double product = 0;
          for (int64_t k = 0; k < 11; ++k)
            product += static_cast<double>(left[static_cast<size_t>(k * 9 + i)]) *
                       static_cast<double>(right[static_cast<size_t>(k * columns + j)]);
          ASSERT_NEAR(sum[static_cast<size_t>(i * columns + j)], 1 - 0.5 * product, 1e-4) << i << ", " << j;
        }
      }
    };
    QQ_ON_EVERY_ISA(add_product, check);
  }
}

}  // namespace
}  // namespace quarkq::numeric
