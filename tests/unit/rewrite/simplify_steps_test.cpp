// SPDX-License-Identifier: MIT
// The steps of simplify_model besides fusion: folding, nodes that do nothing, what is there twice, nested graphs,
// options, and what a failure leaves behind.
#include "support/simplify_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::PassBench;

TEST(SimplifyStepsTest, FoldsConstantsAndShapes) {
  EXPECT_EQ(simplified(R"(g (float[2, 3] x) => (float[3, 2] y) {
    s = Shape (x) i = Constant <value = int64[2] {1, 0}> () t = Gather (s, i) y = Reshape (x, t) })"),
            "Reshape");
  EXPECT_EQ(simplified(R"(g (float[2, 3] x) => (float[2, 3] y) <float[3] a = {1, 2, 3}> {
    b = Neg (a) c = Mul (b, a) y = Add (x, c) })"),
            "Add");
}

TEST(SimplifyStepsTest, KeepsWhatMustNotBeFolded) {
  PassBench output("g (float[1] x) => (float[1] y, float[1] z) <float[1] a = {1}> { y = Neg (x) z = Neg (a) }");
  expect_idle(output, simplify_model);
  PassBench random("g (float[2] x) => (float[2] y) { r = RandomNormal <shape = [2]> () y = Add (x, r) }");
  output.run(simplify_model);
  random.run(simplify_model);
  EXPECT_EQ(random.ops(), "RandomNormal Add");
  PassBench quantized(R"(g (float[1] x) => (float[1] y) <int8[1] q = {5}, float s = {0.5}, int8 z = {0}> {
    w = DequantizeLinear (q, s, z) y = Add (x, w) })");
  expect_idle(quantized, simplify_model);
  PassBench table(
      R"(g (float[2, 3] h, float[1] n) => (float[2, 4] z, float[1, 3] y) <float[4, 3] t = {1,2,3,4,5,6,7,8,9,10,11,12}> {
    i = Cast <to = 7> (n) y = Gather (t, i) u = Transpose <perm = [1, 0]> (t) z = MatMul (h, u) })");
  table.run(simplify_model);
  EXPECT_NE(table.ops().find("Transpose"), std::string::npos);
}

TEST(SimplifyStepsTest, TheNameBehindANoOpSurvives) {
  PassBench bench(R"(g (float[2, 3] x) => (float[2, 3] y) <float o = {1}, float[2, 3] z = {0, 0, 0, 0, 0, 0}> {
    a = Relu (x) b = Identity (a) c = Mul (b, o) d = Add (z, c) y = Neg (d) })");
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Relu Neg");
  EXPECT_EQ(bench.graph().value(bench.node("Relu").output(0)).name, "d");
}

TEST(SimplifyStepsTest, RemovesNoOps) {
  EXPECT_EQ(
      simplified(
          "g (float[2, 3] x) => (float[2, 3] y) <int64[4] p = {0, 0, 0, 0}> { a = Relu (x) b = Pad (a, p) c = Cast "
          "<to = 1> (b) d = Transpose <perm = [0, 1]> (c) y = Neg (d) }"),
      "Relu Neg");
  EXPECT_EQ(
      simplified(
          "g (float[2, 3] x) => (float[2, 3] y) <int64[2] s = {2, 3}, int64[2] e = {2, 9}, int64[2] z = {0, 0}> { a = "
          "Relu (x) b = Reshape (a, s) c = Expand (b, s) d = Slice (c, z, e) y = Neg (d) }"),
      "Relu Neg");
  EXPECT_EQ(simplified("g (float[2, 3] x) => (float[2, 3] y) <float[1] o = {1}> { a = Relu (x) b, m = Dropout (a) c = "
                       "Div (b, o) d = "
                       "Concat <axis = 0> (c) e = Sub (d, z) z = Constant <value = float {0}> () y = Neg (e) }"),
            "Relu Neg");
}

TEST(SimplifyStepsTest, KeepsNodesThatOnlyLookIdle) {
  PassBench broadcast(
      "g (float[3] x) => (float[2, 3] y) <float[2, 1] o = {1, 1}> { a = Relu (x) b = Mul (a, o) y = Neg (b) }");
  expect_idle(broadcast, simplify_model);
  PassBench order("g (float[3] x) => (float[3] y) <float o = {1}> { a = Relu (x) b = Div (o, a) y = Neg (b) }");
  expect_idle(order, simplify_model);
  PassBench ends("g (float[3] x) => (float[3] y) { y = Identity (x) }");
  expect_idle(ends, simplify_model);
  PassBench mask("g (float[3] x) => (float[3] y, bool[3] m) { a, m = Dropout (x) y = Relu (a) }");
  expect_idle(mask, simplify_model);
}

TEST(SimplifyStepsTest, ANoOpAtAGraphOutputHandsItsInputOn) {
  PassBench bench(
      "g (float[3] x) => (float[3] y, float[3] z) <float o = {1}> { z = Relu (x) b = Mul (z, o) y = Neg (b) }");
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Relu Neg");
  EXPECT_EQ(bench.graph().value(bench.node("Neg").input(0)).name, "z");
}

TEST(SimplifyStepsTest, MergesEqualNodesAndConstants) {
  EXPECT_EQ(
      simplified(
          "g (float[2, 3] x) => (float[2, 3] y) { a = Relu (x) b = Relu (x) c = Exp (a) d = Exp (b) y = Add (c, d) }"),
      "Relu Exp Add");
  PassBench tied(
      R"(g (float[2, 3] x) => (float[2, 3] y) <float[3] a = {1, 2, 3}, float[3] b = {1, 2, 3}, float[1, 3] e = {1, 2, 3}> {
    c = Add (x, a) d = Mul (c, b) y = Mul (d, e) })");
  expect_fires(tied, simplify_model);
  EXPECT_EQ(tied.graph().initializers().size(), 2u);
}

TEST(SimplifyStepsTest, KeepsTwinsThatDiffer) {
  PassBench outputs("g (float[3] x) => (float[3] y, float[3] z) { y = Relu (x) z = Relu (x) }");
  expect_idle(outputs, simplify_model);
  PassBench attributes(
      "g (float[3] x) => (float[3] y) { a = Elu <alpha = 1.0> (x) b = Elu <alpha = 2.0> (x) y = Add (a, b) }");
  expect_idle(attributes, simplify_model);
  PassBench random(
      "g (float[3] x) => (float[3] y) { a = RandomNormalLike (x) b = RandomNormalLike (x) y = Add (a, b) }");
  expect_idle(random, simplify_model);
  PassBench zeros(
      "g (float[3] x) => (float[3] y) <float a = {0.5}, double b = {0.5}> { c = Cast <to = 11> (x) d = Add (c, b) e = "
      "Cast <to = 1> (d) y = Add (e, a) }");
  expect_idle(zeros, simplify_model);
}

const char* const kIf = R"(g (float[2] x) => (float[2] y) <bool c = {%}, float[2] k = {1, 2}> {
  r = Relu (x)
  a = If (c) <then_branch = th () => (float[2] t) { q = Constant <value = float[2] {3, 4}> () v = Mul (r, q) w = Add (v, k)
                                                   t = Sigmoid (w) },
              else_branch = el () => (float[2] e) { e = Neg (r) }>
  y = Exp (a)
})";

TEST(SimplifyStepsTest, FlattensAnIfWithAKnownCondition) {
  std::string taken = kIf, other = kIf;
  taken.replace(taken.find('%'), 1, "1");
  other.replace(other.find('%'), 1, "0");
  PassBench bench(taken);
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Relu Mul Add Sigmoid Exp");
  EXPECT_EQ(bench.graph().value(bench.node("Mul").output(0)).name, "v_subg_1_th");
  EXPECT_EQ(bench.graph().value(bench.node("Sigmoid").output(0)).name, "a");
  EXPECT_EQ(simplified(other), "Relu Neg Exp");
}

TEST(SimplifyStepsTest, SimplifiesInsideOfBranches) {
  PassBench bench(R"(g (float[2] x) => (float[2] y) <float[2] k = {1, 2}> {
    r = Relu (x)
    s = ReduceSum <keepdims = 0> (r)
    c = Cast <to = 9> (s)
    a = If (c) <then_branch = th () => (float[2] t) { q = Constant <value = float[2] {3, 4}> () p = Add (q, k) v = Mul (r, p)
                                                     t = Sigmoid (v) },
                else_branch = el () => (float[2] e) { e = Neg (r) }>
    y = Exp (a)
  })");
  expect_fires(bench, simplify_model);
  const ir::Node& node = bench.node("If");
  EXPECT_EQ((*node.get<ir::GraphPtr>("then_branch"))->order().size(), 2u);
  EXPECT_EQ(node.captures.size(), 1u);  // k is no longer read
}

TEST(SimplifyStepsTest, OptionsSwitchStepsAndPatterns) {
  const std::string body =
      R"(g (float[5, 3] x) => (float[5, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}, float o = {1}> {
    a = MatMul (x, w) c = Add (a, b) d = Mul (c, o) y = Neg (d) })";
  auto with = [&](const std::string& options) {
    PassBench bench(test::model_of(body), test::settings_for("A8W8", {"SimplifyModelOptions=" + options}));
    bench.run(simplify_model);
    return bench.ops();
  };
  EXPECT_EQ(with("{}"), "Gemm Neg");
  EXPECT_EQ(with("{skip_fusion_patterns: [FusionGemm]}"), "MatMul Add Neg");
  EXPECT_EQ(with("{skip_optimizations: [graph_fusion, dead_node_elimination]}"), "MatMul Add Mul Neg");
}

TEST(SimplifyStepsTest, FixesInputShapes) {
  const std::string body = "g (float[N, 3] x) => (float[A] y) { s = Shape (x) f = Cast <to = 1> (s) y = Neg (f) }";
  auto run = [&](const std::string& entry, Diagnostics& found) {
    PassBench bench(test::model_of(body),
                    test::settings_for("A8W8", {"SimplifyModelOptions={input_shapes: ['" + entry + "']}"}));
    bench.run(simplify_model);
    found = bench.diagnostics;
    return bench.ops();
  };
  Diagnostics found;
  EXPECT_EQ(run("x:5,3", found), "Neg");
  EXPECT_TRUE(found.all().empty());
  for (const char* wrong : {"x:5", "q:5,3", "x:a,3", "x"}) {
    EXPECT_EQ(run(wrong, found), "Shape Cast Neg") << wrong;
    ASSERT_EQ(found.all().size(), 1u) << wrong;
    EXPECT_EQ(found.all()[0].id, "simplify-failed");
  }
}

TEST(SimplifyStepsTest, FreezesInputsWithAnInitializer) {
  PassBench bench(
      test::model_of("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }", 9, 3));
  EXPECT_TRUE(bench.run(simplify_model));
  EXPECT_EQ(bench.graph().inputs().size(), 1u);
  EXPECT_EQ(bench.model.ir_version, 7);
}

TEST(SimplifyStepsTest, SortsByLevel) {
  PassBench bench(
      "g (float[2] x) => (float[2] y) { a = Relu (x) b = Exp (a) c = Neg (x) d = Mul (b, c) y = Tanh (d) }");
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Relu Neg Exp Mul Tanh");
}

TEST(SimplifyStepsTest, TakesTenThousandNodes) {
  std::string body =
      "g (float[1, 4] x) => (float[1, 4] y) <float[4] w = {1, 2, 3, 4}, int64[2] s = {2, 2}, int64[2] u = {1, 4}> { v0 "
      "= Relu (x)\n";
  constexpr int kBlocks = 2500;
  for (int i = 0; i < kBlocks; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    body += cat("a", n, " = Mul (v", n, ", w) b", n, " = Reshape (a", n, ", s) c", n, " = Identity (b", n, ") v", next,
                " = Reshape (c", n, ", u)\n");
  }
  PassBench bench(body + cat("y = Neg (v", kBlocks, ") }"));
  EXPECT_TRUE(bench.run(simplify_model));
  EXPECT_EQ(bench.graph().order().size(), 2u + kBlocks);
}

}  // namespace
}  // namespace quarkq::pass_tests
