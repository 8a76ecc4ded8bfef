// SPDX-License-Identifier: MIT
// What counts as rounding when a float model was rewritten.
#include <gtest/gtest.h>

#include "pass/output_guard.h"
#include "support/pass_support.h"

namespace quarkq::pass {
namespace {

/// A chain of so many MatMul nodes.
ir::Model chain(int layers) {
  std::string text = "g (float[1, 2] x) => (float[1, 2] y) <float[2, 2] w = {0.5, 0.25, 0.125, 0.5}> { ";
  for (int i = 0; i < layers; ++i)
    text += cat(i + 1 == layers ? "y" : cat("t", i), " = MatMul (", i == 0 ? "x" : cat("t", i - 1), ", w) ");
  return test::model_of(text + "}");
}

double tolerance_of(int layers) {
  calib::Sample sample;
  sample.inputs.push_back(ir::Tensor::from<float>({1, 2}, std::vector<float>{1, 2}));
  const Result<OutputGuard> guard = OutputGuard::make(chain(layers), {}, std::move(sample));
  EXPECT_TRUE(guard.ok());
  return guard.value().tolerance();
}

TEST(OutputGuardTest, ToleranceGrowsWithDepth) {
  EXPECT_DOUBLE_EQ(tolerance_of(1), 1e-4);
  EXPECT_DOUBLE_EQ(tolerance_of(16), 1e-4);
  EXPECT_DOUBLE_EQ(tolerance_of(64), 2e-4);
  EXPECT_GT(tolerance_of(54), 1.04e-4);  // of a network like ResNet-50, whose equalization moved the outputs that far
  EXPECT_LT(tolerance_of(1000), 1e-3);   // a wrong rewrite moves them further
}

TEST(OutputGuardTest, LoopsThatARandomSampleDoesNotEndHaveABound) {
  const ir::Model model = test::model_of(
      "g (float x) => (float y) { y = Loop <body = b (int64 i, bool c, float v) => (bool d, float w) { d = "
      "Identity(c) w = Add(v, v) }> (, , x) }");
  EXPECT_EQ(OutputGuard::on_random_sample(model, {}, model.graph).status().code(), Code::kResource);
}

}  // namespace
}  // namespace quarkq::pass
