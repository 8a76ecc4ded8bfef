// SPDX-License-Identifier: MIT
// What counts as rounding when a float model was rewritten.
#include <gtest/gtest.h>

#include "ir/dump.h"
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

/// The reason why the model has no batch of 1, or the text of its outputs.
std::string single(const std::string& text) {
  const ir::Model model = test::model_of(text);
  if (!batch_above_one(model.graph)) return "no batch";
  const Result<ir::Model> found = with_batch_of_one(model, {});
  if (!found.ok()) return found.status().message();
  std::string dims;
  for (const ir::ValueId id : found.value().graph.outputs())
    dims += ir::dims_text(found.value().graph.value(id).type.dims);
  return dims;
}

TEST(BatchOfOneTest, TakesIndependentRows) {
  EXPECT_EQ(single("g (float[4, 3] x) => (float[4, 3] y) { y = Relu (x) }"), "[1,3]");
  EXPECT_EQ(
      single("g (float[4, 6] x, float[4, 2] z) => (float[4, 3, 2] y) <int64[3] s = {4, 3, 2}, int64[3] o = {4, 1, "
             "2}> { a = Reshape (x, s) b = Reshape (z, o) y = Add (a, b) }"),
      "[1,3,2]");
  EXPECT_EQ(
      single("g (float[4, 2, 3] x) => (float[4, 6] y) <int64[2] s = {8, 3}, int64[2] o = {4, -1}> { a = Reshape (x, "
             "s) b = Relu (a) y = Reshape (b, o) }"),
      "[1,6]");
}

TEST(BatchOfOneTest, SaysWhyRowsAreNot) {
  EXPECT_EQ(single("g (float[1, 3] x) => (float[1, 3] y) { y = Relu (x) }"), "no batch");
  EXPECT_EQ(single("g (float[4, 3] x, float[2, 3] z) => (float[4, 3] y) { y = Relu (x) }"), "no batch");
  EXPECT_NE(
      single("g (float[4, 3] x) => (float[4, 3] y) { y = Softmax <axis = 0> (x) }").find("without the other rows"),
      std::string::npos);
  EXPECT_NE(single("g (float[4, 3] x) => (float[3] y) <int64[1] a = {0}> { y = ReduceSum <keepdims = 0> (x, a) }")
                .find("required is a first dimension of 4"),
            std::string::npos);
}

}  // namespace
}  // namespace quarkq::pass
