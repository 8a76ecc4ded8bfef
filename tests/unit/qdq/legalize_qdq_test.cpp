// SPDX-License-Identifier: MIT
// Passes that move Q and DQ nodes about: guards that the recorded cases do not reach.
#include "pipeline/run/pass_runner.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_idle;
using test::PassBench;

constexpr const char kPairParameters[] = "float s = {0.02}, int8 z = {0}";

TEST(DedicateDqNodeTest, GivesEachReaderItsOwn) {
  PassBench bench(cat("g (float[4] x) => (float[4] y, float[4] u, float[4] d) <", kPairParameters, "> {\n",
                      "q = QuantizeLinear (x, s, z)\n d = DequantizeLinear (q, s, z)\n",
                      "y = Mul (d, d)\n u = Neg (d)\n}"));
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(dedicate_dq_node));
  test::expect_same_outputs(before, bench.model, 0);
  EXPECT_EQ(bench.ops(), "QuantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear Mul Neg");
  // The graph output keeps the original; both inputs of Mul share the first copy.
  const ir::Node& mul = bench.node("Mul");
  EXPECT_EQ(bench.graph().value(mul.input(0)).name, "d_1");
  EXPECT_EQ(mul.input(0), mul.input(1));
  EXPECT_EQ(bench.graph().value(bench.node("Neg").input(0)).name, "d_2");
  EXPECT_FALSE(bench.run(dedicate_dq_node));
}

TEST(DedicateDqNodeTest, CopiesTheQOfAStoredTensor) {
  PassBench bench(cat("g (float[2] x) => (float[2] y, float[2] u) <float[2] w = {1, 2}, ", kPairParameters, "> {\n",
                      "q = QuantizeLinear (w, s, z)\n d = DequantizeLinear (q, s, z)\n",
                      "y = Mul (x, d)\n u = Add (x, d)\n}"));
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(dedicate_dq_node));
  test::expect_same_outputs(before, bench.model, 0);
  EXPECT_EQ(bench.ops(), "QuantizeLinear QuantizeLinear DequantizeLinear DequantizeLinear Mul Add");
}

TEST(DedicateDqNodeTest, LeavesStoredCodesAlone) {
  PassBench bench(cat("g (float[2] x) => (float[2] y, float[2] u) <int8[2] w = {1, 2}, ", kPairParameters, "> {\n",
                      "d = DequantizeLinear (w, s, z)\n y = Mul (x, d)\n u = Add (x, d)\n}"));
  expect_idle(bench, dedicate_dq_node);
}

TEST(Int16BiasTest, LeavesOtherBiasesAlone) {
  PassBench floats(
      "g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) <float[1, 1, 1, 1] w = {1}, float[1] b = {1}> {\n"
      "y = Conv (x, w, b)\n}");
  expect_idle(floats, int16_bias);
  PassBench bytes(
      "g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) <float[1, 1, 1, 1] w = {1}, int8[1] q = {1}, "
      "float s = {0.1}, int8 z = {0}> {\n b = DequantizeLinear (q, s, z)\n y = Conv (x, w, b)\n}");
  expect_idle(bytes, int16_bias);
}

TEST(Int16BiasTest, KeepsWhatFits) {
  PassBench bench(
      "g (float[1, 1, 2, 2] x) => (float[1, 2, 2, 2] y) <float[2, 1, 1, 1] w = {1, 2}, int32[2] q = "
      "{300, -32768}, float s = {0.001}, int32 z = {0}> {\n b = DequantizeLinear (q, s, z)\n"
      " y = Conv (x, w, b)\n}");
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(int16_bias));
  test::expect_same_outputs(before, bench.model, 0);
  EXPECT_TRUE(bench.diagnostics.all().empty());
  EXPECT_EQ(bench.graph().constant(bench.value("q"))->type(), ElementType::kInt16);
  EXPECT_FALSE(bench.run(int16_bias));
}

TEST(FillAllValueInfoTest, WritesWhatASampleShows) {
  PassBench bench(
      test::model_of("g (float[N, 2] x) => (float[M, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {\n"
                     "a = MatMul (x, w)\n b = Relu (a)\n s = Shape (b)\n y = Reshape (b, s)\n}"));
  expect_idle(bench, fill_all_value_info);
  EXPECT_EQ(test::diagnostic_ids(bench.diagnostics), std::vector<std::string>{"value-info-not-filled"});
  const test::RandomSamples samples(test::model_of("g (float[3, 2] x) => (float[3, 2] y) { y = Relu (x) }").graph, 1);
  bench.context.source.data = &samples;
  EXPECT_TRUE(bench.run(fill_all_value_info));
  for (const char* name : {"x", "a", "b", "y"})
    EXPECT_EQ(bench.graph().value(bench.value(name)).type.shape(), (ir::Shape{3, 2})) << name;
  EXPECT_EQ(bench.graph().value(bench.value("s")).type.element, ElementType::kInt64);
  EXPECT_TRUE(bench.graph().value(bench.value("a")).has_info);
  EXPECT_FALSE(bench.run(fill_all_value_info));
}

}  // namespace
}  // namespace quarkq::pass_tests
