// SPDX-License-Identifier: MIT
// Which scales of a weight fit a bias, and what the scales of the bias are.
#include "plan/constant_codes.h"

#include <gtest/gtest.h>

namespace quarkq::plan {
namespace {

ir::Node layer(const char* op, const char* attribute = "", int64_t value = 0) {
  ir::Node node;
  node.op = op;
  if (*attribute != '\0') node.set(attribute, value);
  return node;
}

TEST(BiasScalesTest, ScalesOfOutputChannelsFit) {
  EXPECT_TRUE(fits_bias(layer("Conv"), 0, 4, {4}));
  EXPECT_TRUE(fits_bias(layer("Gemm"), 1, 5, {5}));
  EXPECT_TRUE(fits_bias(layer("Gemm", "transB", 1), 0, 5, {1, 5}));
  EXPECT_TRUE(fits_bias(layer("ConvTranspose", "group", 2), 1, 3, {6}));
  EXPECT_TRUE(fits_bias(layer("MatMul"), 0, 1, {7})) << "one scale fits every bias";
}

TEST(BiasScalesTest, OtherAxesAndShapesDoNotFit) {
  EXPECT_FALSE(fits_bias(layer("Conv"), 1, 4, {4}));
  EXPECT_FALSE(fits_bias(layer("Conv"), 0, 3, {4}));
  EXPECT_FALSE(fits_bias(layer("ConvTranspose"), 0, 6, {6}));
  EXPECT_FALSE(fits_bias(layer("Gemm"), 1, 5, {1}));
  EXPECT_FALSE(fits_bias(layer("Gemm"), 1, 5, {}));
  EXPECT_FALSE(fits_bias(layer("Gemm"), 1, 5, {3, 5}));
  EXPECT_FALSE(fits_bias(layer("Gemm"), 1, 5, {5, 1})) << "runs along the rows";
  EXPECT_FALSE(fits_bias(layer("MatMul"), 1, 5, {5}));
}

TEST(BiasScalesTest, ScalesRepeatForEachGroup) {
  const std::vector<float> weight = {1, 2, 3};
  EXPECT_EQ(bias_scales(0.5f, weight, 2.0f, 6), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(bias_scales(0.5f, std::vector<float>{4}, 1.0f, 6), std::vector<float>{2});
}

TEST(BiasScalesTest, TheAxisIsTheLongOne) {
  EXPECT_EQ(bias_axis({4}), 0);
  EXPECT_EQ(bias_axis({1, 4}), 1);
  EXPECT_EQ(bias_axis({4, 1}), 0);
  EXPECT_EQ(bias_axis({1, 1}), 1);
  EXPECT_EQ(bias_axis({}), 0);
}

}  // namespace
}  // namespace quarkq::plan
