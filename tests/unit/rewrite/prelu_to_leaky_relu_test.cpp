// SPDX-License-Identifier: MIT
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

ir::Model prelu_model(const std::string& slopes) {
  return test::model_of(
      cat("g (float[2, 3, 2, 2] x) => (float[2, 3, 2, 2] y) <", slopes, "> { [act] y = PRelu (x, s) }"));
}

TEST(PreluToLeakyReluTest, EqualSlopesAreOneNumber) {
  for (const char* slopes : {"float[1] s = {0.3}", "float s = {0.3}", "float[3, 1, 1] s = {0.3, 0.3, 0.3}"}) {
    SCOPED_TRACE(slopes);
    PassBench bench(prelu_model(slopes));
    test::expect_fires(bench, prelu_to_leaky_relu, 0);
    EXPECT_EQ(bench.ops(), "LeakyRelu");
    EXPECT_EQ(bench.node("LeakyRelu").name, "act");
    EXPECT_EQ(bench.node("LeakyRelu").float_or("alpha", 0), 0.3f);
    EXPECT_TRUE(bench.graph().initializers().empty());
  }
}

TEST(PreluToLeakyReluTest, SlopesKeepTheirBroadcast) {
  for (const char* slopes : {"float[3, 1, 1] s = {0.3, -0.5, 2}", "float[2] s = {0.1, 0}",
                             "float[1, 3, 1, 2] s = {0.1, 0.2, 0.3, -0.4, 0.5, 1}"}) {
    SCOPED_TRACE(slopes);
    PassBench bench(prelu_model(slopes));
    test::expect_fires(bench, prelu_to_leaky_relu, 0);
    EXPECT_EQ(bench.ops(), "Relu Neg Relu Mul Add");
    EXPECT_EQ(bench.node("Add").name, "act");
    EXPECT_TRUE(bench.graph().value(bench.node("Mul").input(1)).is_initializer());
  }
}

TEST(PreluToLeakyReluTest, KeepsOtherSlopes) {
  PassBench half("g (float16[2, 3] x) => (float16[2, 3] y) <float16[1] s = {13312}> { y = PRelu (x, s) }");
  test::expect_idle(half, prelu_to_leaky_relu);
  PassBench fed("g (float[2, 3] x, float[3] s) => (float[2, 3] y) { y = PRelu (x, s) }");
  test::expect_idle(fed, prelu_to_leaky_relu);
  PassBench infinite(prelu_model("float[2] s = {0.1, 0.2}"));
  ir::GraphEdit(infinite.model.graph)
      .set_constant(infinite.value("s"), ir::Tensor::from<float>({2}, std::vector<float>{0.1f, INFINITY}));
  test::expect_idle(infinite, prelu_to_leaky_relu);
}

TEST(PreluToLeakyReluTest, BeforeOpsetSevenSlopesAreOfChannels) {
  PassBench channels(test::model_of(
      "g (float[2, 3, 2, 2] x) => (float[2, 3, 2, 2] y) <float[3] s = {0.3, 0.4, 0.5}> { y = PRelu (x, s) }", 6));
  test::expect_idle(channels, prelu_to_leaky_relu);
  PassBench one(
      test::model_of("g (float[2, 3, 2, 2] x) => (float[2, 3, 2, 2] y) <float[1] s = {0.3}> { y = PRelu (x, s) }", 6));
  EXPECT_TRUE(one.run(prelu_to_leaky_relu));
}

}  // namespace
}  // namespace quarkq::pass_tests
