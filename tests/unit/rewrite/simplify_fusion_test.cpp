// SPDX-License-Identifier: MIT
// The fusion patterns of simplify_model: each fires, keeps the function, and does not fire for each of its guards.
#include "support/simplify_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::numbers;
using test::PassBench;

/// Runs the pass, which leaves the operators as they are. (It may drop constants that the body does not need.)
void expect_left(const std::string& body) {
  PassBench bench(body);
  const std::string before = bench.ops();
  bench.run(simplify_model);
  EXPECT_EQ(bench.ops(), before);
}

const std::string kConv = cat("float[4, 2, 3, 3] w = ", numbers(72, 1));
const std::string kNorm =
    "float[4] g = {1, 2, 3, 4}, float[4] b = {1, 0, -1, 0.5}, float[4] m = {0.1, 0.2, 0.3, 0.4}, float[4] v = {1, 2, "
    "3, 4}";

TEST(SimplifyFusionTest, FoldsWhatFollowsAConv) {
  PassBench bench(cat("g (float[1, 2, 5, 5] x) => (float[1, 4, 3, 3] y) <", kConv, ", ", kNorm,
                      ", float[4, 1, 1] k = {1, 2, 3, 4}, float[1, 4, 1, 1] q = {1, 2, 3, 4}> {",
                      "c = Conv (x, w, b) d = BatchNormalization (c, g, b, m, v) e = Mul (d, k) f = Add (e, q)",
                      "y = Relu (f) }"));
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Conv Relu");
  const ir::Node& conv = bench.node("Conv");
  EXPECT_EQ(bench.graph().value(conv.output(0)).name, "f");
  EXPECT_EQ(conv.name, "e");  // each fusion names the node after what the Conv wrote before
  EXPECT_EQ(bench.graph().value(conv.input(1)).name, "e_weight");
  EXPECT_EQ(bench.graph().value(conv.input(2)).name, "f_bias");
}

TEST(SimplifyFusionTest, FoldsIntoGroupedConvTranspose) {
  EXPECT_EQ(
      simplified(cat("g (float[1, 4, 5, 5] x) => (float[1, 4, 7, 7] y) <", kConv, ", ", kNorm, "> {",
                     "c = ConvTranspose <group = 2> (x, w) d = BatchNormalization <epsilon = 0.01> (c, g, b, m, v)",
                     "y = Relu (d) }")),
      "ConvTranspose Relu");
}

TEST(SimplifyFusionTest, LeavesAConvWhoseResultIsSeen) {
  const std::string tail = "c = Conv (x, w) y = BatchNormalization (c, g, b, m, v)";
  expect_left(cat("g (float[1, 2, 5, 5] x) => (float[1, 4, 3, 3] y, float[1, 4, 3, 3] c) <", kConv, ", ", kNorm, "> {",
                  tail, "}"));
  expect_left(cat("g (float[1, 2, 5, 5] x) => (float[1, 4, 3, 3] y, float[1, 4, 3, 3] z) <", kConv, ", ", kNorm, "> {",
                  tail, " z = Neg (c) }"));
}

TEST(SimplifyFusionTest, LeavesOperandsThatAreNotPerChannel) {
  for (const char* operand : {"float[1] k = {3}", "float[3] k = {1, 2, 3}", "float[1, 1, 3, 1] k = {1, 2, 3}",
                              "float[1, 1, 4, 1, 1] k = {1, 2, 3, 4}"}) {
    PassBench bench(cat("g (float[1, 2, 5, 5] x) => (float y) <", kConv, ", ", operand,
                        "> { c = Conv (x, w) d = Add (c, k) e = Mul (d, k) y = ReduceSum <keepdims = 0> (e) }"));
    expect_idle(bench, simplify_model);
  }
  PassBench front(cat("g (float[1, 2, 5, 5] x) => (float[1, 4, 3, 3] y) <", kConv,
                      ", float[4, 1, 1] k = {1, 2, 3, 4}> { c = Conv (x, w) y = Mul (k, c) }"));
  expect_idle(front, simplify_model);
}

/// A Conv after a Pad with these inputs and attributes.
std::string pad_conv(const std::string& initializers, const std::string& pad, const std::string& attributes = "") {
  return cat("g (float[1, 2, 5, 5] x) => (float y) <", kConv, ", ", initializers, "> { p = ", pad, " c = Conv ",
             attributes, " (p, w) y = ReduceSum <keepdims = 0> (c) }");
}

TEST(SimplifyFusionTest, FoldsZeroPads) {
  EXPECT_EQ(simplified(pad_conv("int64[8] a = {0, 0, 1, 2, 0, 0, 1, 0}", "Pad (x, a)")), "Conv ReduceSum");
  EXPECT_EQ(simplified(pad_conv("int64[8] a = {0, 0, 1, 2, 0, 0, 1, 0}, float z = {0}", "Pad (x, a, z)",
                                "<pads = [1, 1, 0, 0]>")),
            "Conv ReduceSum");
  EXPECT_EQ(simplified(pad_conv("int64[8] a = {0, 0, 1, 2, 0, 0, 1, 0}", "Pad (x, a)", "<auto_pad = \"VALID\">")),
            "Conv ReduceSum");
}

TEST(SimplifyFusionTest, LeavesOtherPads) {
  const std::string amounts = "int64[8] a = {0, 0, 1, 2, 0, 0, 1, 0}";
  PassBench value(pad_conv(amounts + ", float z = {1}", "Pad (x, a, z)"));
  expect_idle(value, simplify_model);
  PassBench mode(pad_conv(amounts, "Pad <mode = \"edge\"> (x, a)"));
  expect_idle(mode, simplify_model);
  PassBench same(pad_conv(amounts, "Pad (x, a)", "<auto_pad = \"SAME_UPPER\">"));
  expect_idle(same, simplify_model);
  PassBench negative(pad_conv("int64[8] a = {0, 0, -1, 0, 0, 0, 0, 0}", "Pad (x, a)"));
  expect_idle(negative, simplify_model);
  PassBench batch(pad_conv("int64[8] a = {1, 0, 0, 0, 0, 0, 0, 0}", "Pad (x, a)"));
  expect_idle(batch, simplify_model);
}

const std::string kLinear = cat("float[3, 2] w = ", numbers(6, 2), ", float[2] b = {1, 2}");

TEST(SimplifyFusionTest, MakesAGemm) {
  PassBench bench(cat("g (float[5, 3] x) => (float[5, 2] y) <", kLinear, "> { a = MatMul (x, w) y = Add (b, a) }"));
  expect_fires(bench, simplify_model);
  const ir::Node& gemm = bench.node("Gemm");
  EXPECT_EQ(gemm.name, "a");
  EXPECT_EQ(gemm.int_or("transB", 0), 1);
  EXPECT_EQ(bench.graph().value(gemm.input(1)).name, "a_weight");
  EXPECT_EQ(bench.graph().value(gemm.input(2)).name, "b");
}

TEST(SimplifyFusionTest, MakesAGemmBetweenReshapes) {
  PassBench bench(cat("g (float[2, 5, 3] x) => (float[2, 5, 2] y) <", kLinear,
                      ", float[2] k = {3, 4}, float[2] q = {5, 6}> { a = MatMul (x, w) c = Add (a, b) d = Mul (k, c)",
                      " e = Add (d, q) y = Neg (e) }"));
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Reshape Gemm Reshape Neg");
  const ir::Node& gemm = bench.node("Gemm");
  EXPECT_EQ(bench.graph().value(gemm.input(0)).name, "a_pre_reshape_out");
  EXPECT_EQ(bench.graph().value(gemm.output(0)).name, "a_gemm_out");
  EXPECT_EQ(bench.graph().value(bench.node("Neg").input(0)).name, "c");
}

TEST(SimplifyFusionTest, LeavesOtherMatMuls) {
  expect_left(cat("g (float[N, 5, 3] x) => (float[N, 5, 2] y) <", kLinear, "> { a = MatMul (x, w) y = Add (a, b) }"));
  expect_left(cat("g (float[2, 5, 3] x) => (float[2, 5, 2] y) <", kLinear,
                  ", float[1, 1, 2] c = {1, 2}> { a = MatMul (x, w) y = Add (a, c) }"));
  expect_left(cat("g (float[5, 3] x) => (float[5, 2] y, float[5, 2] z) <", kLinear,
                  "> { a = MatMul (x, w) y = Add (a, b) z = Neg (a) }"));
  expect_left(
      cat("g (float[5, 3] x, float[2] c) => (float[5, 2] y) <", kLinear, "> { a = MatMul (x, w) y = Add (a, c) }"));
}

/// A Gemm with these operands, a Reshape to [2, 3, 2], and an operator with constant k after it.
std::string gemm_chain(const std::string& gemm, const std::string& operand, const std::string& last,
                       const std::string& outputs = "float[2, 3, 2] y") {
  return cat("g (float[6, 3] x) => (", outputs, ") <", kLinear, ", float[2, 3] t = ", numbers(6, 3), ", ", operand,
             ", int64[3] s = {2, 3, 2}> { a = ", gemm, " c = Reshape (a, s) d = ", last, " y = Neg (d) }");
}

TEST(SimplifyFusionTest, ExtendsAGemm) {
  EXPECT_EQ(simplified(gemm_chain("Gemm <transB = 1> (x, t, b)", "float k = {3}", "Mul (c, k)")), "Gemm Reshape Neg");
  EXPECT_EQ(simplified(gemm_chain("Gemm <transB = 1> (x, t)", "float[2] k = {3, 4}", "Mul (c, k)")),
            "Gemm Reshape Neg");
  EXPECT_EQ(simplified(gemm_chain("Gemm (x, w)", "float[2] k = {3, 4}", "Add (c, k)")), "Gemm Reshape Neg");
  EXPECT_EQ(simplified(gemm_chain("Gemm <alpha = 0.5> (x, w, b)", "float[1, 1] k = {3}", "Add (k, c)")),
            "Gemm Reshape Neg");
}

TEST(SimplifyFusionTest, LeavesOtherGemms) {
  expect_left(gemm_chain("Gemm (x, w, b)", "float k = {3}", "Mul (c, k)"));  // transB 0
  expect_left(gemm_chain("Gemm <beta = 0.5> (x, w, b)", "float k = {3}", "Add (c, k)"));
  expect_left(
      gemm_chain("Gemm <transB = 1> (x, t, b)", "float k = {3}", "Mul (c, k)", "float[2, 3, 2] y, float[6, 2] a"));
  expect_left(gemm_chain("Gemm <transB = 1> (x, t, b)", "float[3, 1] k = {3, 4, 5}", "Mul (c, k)"));
}

TEST(SimplifyFusionTest, ConcatsThatOthersReadAreMergedUpToABound) {
  const auto inputs_of = [](int levels) {
    std::string body = "g (float[1, 1] x) => (float[N, 1] y) { h0 = Concat <axis = 0> (x, x) ";
    for (int level = 1; level < levels; ++level)
      body += cat("h", level, " = Concat <axis = 0> (h", level - 1, ", h", level - 1, ") ");
    PassBench bench(cat(body, "y = Relu (h", levels - 1, ") }"));
    bench.run(simplify_model);
    size_t all = 0;
    for (const ir::NodeId id : bench.graph().order()) all += bench.graph().node(id).inputs.size();
    return all;
  };
  EXPECT_EQ(inputs_of(3), 9u);           // one Concat of eight, and Relu
  EXPECT_LE(inputs_of(12), 12u * 256u);  // 4096 without a bound
  EXPECT_LE(inputs_of(40), 40u * 256u);
}

}  // namespace
}  // namespace quarkq::pass_tests
