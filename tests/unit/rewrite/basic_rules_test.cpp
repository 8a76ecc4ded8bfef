// SPDX-License-Identifier: MIT
// The basic optimizer without its Transposes: what it merges, folds and inlines, and what it leaves alone.
#include "pipeline/run/pass_runner.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::PassBench;

TEST(BasicTest, LeavesAGraphWithoutFindingsAsItIs) {
  PassBench bench(R"(g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] z, float[1, 2, 4, 4] y)
      <float[2, 2, 1, 1] w = {1, 2, 3, 4}> {
    y = Relu (x)
    z = Conv (x, w)
  })");
  expect_idle(bench, optimize_basic);  // no order, no default attributes
}

TEST(BasicTest, WritesDefaultsAndOrdersOnceSomethingWasFound) {
  PassBench bench(R"(g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] z, float[1, 2, 4, 4] y)
      <float[2, 2, 1, 1] w = {1, 2, 3, 4}> {
    y = Relu (x)
    c = Conv (x, w)
    d = HardSwish (c)
    z = Exp (d)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Conv HardSigmoid Mul Exp Relu");
  EXPECT_EQ(bench.node("Conv").int_or("group", 0), 1);
  EXPECT_EQ(bench.node("Conv").string_or("auto_pad", ""), "NOTSET");
}

TEST(BasicTest, InlinesOperatorsWithoutAKernel) {
  PassBench bench(R"(g (float[2, 3] x) => (float[2, 3] z) {
    [first] a = HardSwish (x)
    [second] b = HardSwish (a)
    [third] z = Relu (b)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "HardSigmoid Mul HardSigmoid Mul Relu");
  EXPECT_EQ(bench.graph().producer(bench.value("_inlfunc_HardSwish_HS_X"))->op, "HardSigmoid");
  EXPECT_EQ(bench.graph().producer(bench.value("_inlfunc_HardSwish_token_0_HS_X"))->op, "HardSigmoid");
  EXPECT_EQ(bench.graph().producer(bench.value("a"))->op, "Mul");
  EXPECT_EQ(bench.graph().producer(bench.value("a"))->name, "");
  PassBench mish("g (float[2, 3] x) => (float[2, 3] z) { a = Mish (x) z = Neg (a) }", 18);
  expect_fires(mish, optimize_basic);
  EXPECT_EQ(mish.ops(), "Softplus Tanh Mul Neg");
}

/// ONNX Runtime 1.32 does so at its basic level.
TEST(BasicTest, DividesInsteadOfMultiplyingByAReciprocal) {
  for (const char* product : {"Mul (r, x)", "Mul (x, r)"}) {
    PassBench bench(cat("g (float[2, 3] x, float[2, 1] d) => (float[2, 3] z) <float one = {1}> { r = Div (one, d) m = ",
                        product, " z = Neg (m) }"));
    expect_fires(bench, optimize_basic);
    EXPECT_EQ(bench.ops(), "Div Neg");
    EXPECT_EQ(bench.node("Div").input(0), bench.value("x"));
    EXPECT_EQ(bench.node("Div").output(0), bench.value("m"));
  }
}

TEST(BasicTest, KeepsProductsWithWhatIsNoReciprocalOfItsOwn) {
  for (const char* text : {
           "g (float[3] x, float[3] d) => (float[3] z) <float one = {2}> { r = Div (one, d) z = Mul (r, x) }",
           "g (int32[3] x, int32[3] d) => (int32[3] z) <int32 one = {1}> { r = Div (one, d) z = Mul (r, x) }",
           "g (float[3] x, float[3] d) => (float[3] z, float[3] r) <float one = {1}> { r = Div (one, d) z = Mul (r, x) "
           "}",
           "g (float[3] x, float[3] d) => (float[3] z, float[3] y) <float one = {1}> "
           "{ r = Div (one, d) z = Mul (r, x) y = Neg (r) }",
           "g (float[3] d) => (float[3] z) <float one = {1}> { r = Div (one, d) z = Mul (r, r) }",
           "g (float[3] x, float[3] d) => (float[1, 3] z) <float[1, 1] one = {1}> { r = Div (one, d) z = Mul (r, x) }",
       }) {
    SCOPED_TRACE(text);
    PassBench bench(text);
    expect_idle(bench, optimize_basic);
  }
}

/// ONNX Runtime replaces a computed shape by a stored one only where one Reshape alone reads it.
TEST(BasicTest, LeavesAShapeThatTwoReshapesRead) {
  const std::string shape = "s = Shape (x) b = Gather (s, i) u = Unsqueeze (b, a) c = Concat <axis = 0> (u, k) ";
  const std::string stored = "<int64 i = {0}, int64[1] a = {0}, int64[2] k = {2, 3}>";
  PassBench one(cat("g (float[B, 6] x) => (float[B, 2, 3] y) ", stored, " { ", shape, "y = Reshape (x, c) }"));
  EXPECT_TRUE(one.run(optimize_basic));
  EXPECT_EQ(one.ops(), "Reshape");
  PassBench two(cat("g (float[B, 6] x) => (float[B, 2, 3] y, float[B, 2, 3] z) ", stored, " { ", shape,
                    "n = Neg (x) y = Reshape (x, c) z = Reshape (n, c) }"));
  EXPECT_FALSE(two.run(optimize_basic));
}

TEST(BasicTest, MergesEqualNodes) {
  PassBench bench(R"(g (float[2, 3] x) => (float[2, 3] z) {
    a = Exp (x)
    b = Exp (x)
    c = LeakyRelu (a)
    d = LeakyRelu <alpha = 0.01> (b)
    z = Add (c, d)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Exp LeakyRelu Add");  // a default is as good as the same value
}

TEST(BasicTest, KeepsNodesThatOnlyLookEqual) {
  PassBench attribute("g (float[2] x) => (float[2] z) { a = Elu <alpha = 2.0> (x) b = Elu (x) z = Add (a, b) }");
  expect_idle(attribute, optimize_basic);
  PassBench order("g (float[2] x, float[2] y) => (float[2] z) { a = Sub (x, y) b = Sub (y, x) z = Add (a, b) }");
  expect_idle(order, optimize_basic);
  PassBench outputs("g (float[2] x) => (float[2] y, float[2] z) { y = Exp (x) z = Exp (x) }");
  expect_idle(outputs, optimize_basic);
  PassBench random(R"(g (float[2] x) => (float[2] z) {
    a = RandomNormal <shape = [2]> ()
    b = RandomNormal <shape = [2]> ()
    c = Add (a, b)
    z = Add (x, c)
  })");
  expect_idle(random, optimize_basic);
}

std::string padded(const std::string& reader, const std::string& pads = "{0, 0, 1, 1, 0, 0, 1, 1}",
                   const std::string& before = "r = Relu (x)") {
  return "g (float[1, 2, 5, 5] x) => (float[1, 2, 5, 5] z) <int64[8] p = " + pads +
         ", float[2, 2, 3, 3] w = " + test::numbers(36, 3) + "> { " + before + " a = Pad (r, p) b = " + reader +
         " z = Neg (b) }";
}

TEST(BasicTest, FoldsPadIntoConvAndPools) {
  for (const char* reader :
       {"Conv (a, w)", "AveragePool <kernel_shape = [3, 3]> (a)", "MaxPool <kernel_shape = [3, 3]> (a)"}) {
    PassBench bench(padded(reader));
    expect_fires(bench, optimize_basic);
    const ir::Node& folded = *bench.graph().producer(bench.value("b"));
    EXPECT_EQ(bench.ops(), "Relu " + folded.op + " Neg");
    EXPECT_EQ(folded.ints_or("pads", {}), (std::vector<int64_t>{1, 1, 1, 1}));
    EXPECT_EQ(folded.int_or("count_include_pad", 1), 1);
  }
}

/// A pool refuses an image without elements, but takes what a Pad makes of it.
TEST(BasicTest, FoldsPadOfAnEmptyImageIntoConvOnly) {
  for (const auto& [reader, ops] : {std::pair("Conv (a, w)", "Relu Conv Neg"),
                                    {"AveragePool <kernel_shape = [3, 3]> (a)", "Relu Pad AveragePool Neg"},
                                    {"MaxPool <kernel_shape = [3, 3]> (a)", "Relu Pad MaxPool Neg"}}) {
    PassBench bench(
        "g (float[1, 2, 0, 5] x) => (float[1, 2, N, 5] z) <int64[8] p = {0, 0, 2, 1, 0, 0, 2, 1}"
        ", float[2, 2, 3, 3] w = " +
        test::numbers(36, 3) + "> { r = Relu (x) a = Pad (r, p) b = " + reader + " z = Neg (b) }");
    const ir::Model before = bench.model;
    static_cast<void>(bench.run(optimize_basic));
    EXPECT_EQ(bench.ops(), ops);
    test::expect_same_outputs(before, bench.model);
  }
}

TEST(BasicTest, KeepsPadThatIsNoPadding) {
  // Of channels; of numbers that may be below zero in front of a maximum; where the padding follows from the size.
  PassBench channels(R"(g (float[1, 1, 5, 5] x) => (float[1, 2, 5, 5] z)
      <int64[8] p = {0, 0, 1, 1, 0, 1, 1, 1}, float[2, 2, 3, 3] w = )" +
                     test::numbers(36, 3) + "> { a = Pad (x, p) z = Conv (a, w) }");
  expect_idle(channels, optimize_basic);
  PassBench negative(padded("MaxPool <kernel_shape = [3, 3]> (a)", "{0, 0, 1, 1, 0, 0, 1, 1}", "r = Sin (x)"));
  expect_idle(negative, optimize_basic);
  PassBench automatic(padded("Conv <auto_pad = \"VALID\"> (a, w)"));
  expect_idle(automatic, optimize_basic);
  PassBench edges(R"(g (float[1, 2, 5, 5] x) => (float[1, 2, 5, 5] z)
      <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float[2, 2, 3, 3] w = )" +
                  test::numbers(36, 3) + "> { a = Pad <mode = \"edge\"> (x, p) z = Conv (a, w) }");
  expect_idle(edges, optimize_basic);
  for (const char* pool : {"AveragePool", "MaxPool"}) {  // a window may not lie in the padding alone
    PassBench wide(padded(cat(pool, " <kernel_shape = [2, 2]> (a)"), "{0, 0, 2, 0, 0, 0, 0, 0}"));
    expect_idle(wide, optimize_basic);
  }
  PassBench pads(padded("AveragePool <kernel_shape = [5, 5], pads = [1, 1, 1, 1]> (a)"));
  expect_idle(pads, optimize_basic);
  PassBench readers(R"(g (float[1, 2, 5, 5] x) => (float[1, 2, 5, 5] z, float[1, 2, 7, 7] y)
      <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float[2, 2, 3, 3] w = )" +
                    test::numbers(36, 3) + "> { a = Pad (x, p) z = Conv (a, w) y = Neg (a) }");
  expect_idle(readers, optimize_basic);
}

TEST(BasicTest, GivesReshapeAConstantShape) {
  PassBench bench(
      R"(g (float[N, 6] x) => (float[N, 2, 3] z) <int64 zero = {0}, int64[1] axes = {0}, int64[2] rest = {2, 3}> {
    s = Shape (x)
    n = Gather (s, zero)
    u = Unsqueeze (n, axes)
    c = Concat <axis = 0> (u, rest)
    z = Reshape (x, c)
  })");
  EXPECT_TRUE(bench.run(optimize_basic));
  EXPECT_EQ(bench.ops(), "Reshape");
  const ir::Tensor* shape = bench.graph().constant(bench.value("c"));
  ASSERT_NE(shape, nullptr);
  EXPECT_EQ(ir::to_int64(*shape).value(), (std::vector<int64_t>{0, 2, 3}));
  EXPECT_FALSE(bench.run(optimize_basic));
}

TEST(BasicTest, KeepsShapesWithTwoUnknowns) {
  PassBench bench(R"(g (float[N, M, 6] x) => (float[M, N, 6] z)
      <int64 zero = {0}, int64 one = {1}, int64[1] axes = {0}, int64[1] rest = {6}> {
    s = Shape (x)
    n = Gather (s, zero)
    un = Unsqueeze (n, axes)
    m = Gather (s, one)
    um = Unsqueeze (m, axes)
    c = Concat <axis = 0> (um, un, rest)
    z = Reshape (x, c)
  })");
  expect_idle(bench, optimize_basic);
}

TEST(BasicTest, MergesChainsThatChangeTheShapeOnly) {
  PassBench bench(
      R"(g (float[2, 6] x) => (float[3, 4] z) <int64[3] s = {2, 1, 6}, int64[1] a = {1}, int64[2] t = {3, 4}> {
    [one] b = Reshape (x, s)
    [two] c = Squeeze (b, a)
    [three] z = Reshape (c, t)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Reshape");
  EXPECT_EQ(bench.node("Reshape").name, "one_new_reshape");
  PassBench readers(R"(g (float[2, 6] x) => (float[3, 4] z, float[2, 1, 6] b)
      <int64[3] s = {2, 1, 6}, int64[2] t = {3, 4}> {
    b = Reshape (x, s)
    z = Reshape (b, t)
  })");
  expect_idle(readers, optimize_basic);
}

TEST(BasicTest, FoldsWhatIsKnown) {
  PassBench bench(R"(g (float[2] x) => (float[2] z) <float[2] a = {1, 2}> {
    b = Neg (a)
    z = Add (x, b)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Add");
}

TEST(BasicTest, BypassesNoOps) {
  PassBench bench(R"(g (float[2] x) => (float[2] z) {
    a = Identity (x)
    b = Exp (a)
    c = Cast <to = 1> (b)
    d = Dropout (c)
    e = Neg (d)
    z = Identity (e)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Exp Neg");
  PassBench kept("g (float[2] x) => (float[2] z, float[2] y) { z = Identity (x) a = Exp (x) y = Cast <to = 1> (a) }");
  expect_idle(kept, optimize_basic);
}

TEST(BasicTest, FoldsReluIntoClip) {
  PassBench bench(R"(g (float[8] x) => (float[8] z) <float low = {-1}, float high = {1}> {
    [r] a = Relu (x)
    [c] z = Clip (a, low, high)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Clip");
  PassBench old("g (float[8] x) => (float[8] z) { a = Relu (x) z = Clip <min = -1.0, max = 1.0> (a) }", 10);
  expect_fires(old, optimize_basic);
  EXPECT_EQ(old.node("Clip").float_or("min", -1), 0.0f);
  PassBench readers(R"(g (float[8] x) => (float[8] z, float[8] a) <float low = {-1}> {
    a = Relu (x)
    z = Clip (a, low)
  })");
  expect_idle(readers, optimize_basic);
}

TEST(BasicTest, FoldsWhatWorksPerChannelIntoConv) {
  PassBench bench(R"(g (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] z)
      <float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[2, 1, 1] m = {2, 3}, float[1, 2, 1, 1] a = {5, 7},
       float[2] gamma = {1, 2}, float[2] beta = {3, 4}, float[2] mean = {0, 1}, float[2] var = {1, 4}> {
    c = Conv (x, w)
    d = Mul (c, m)
    e = Add (d, a)
    z = BatchNormalization (e, gamma, beta, mean, var)
  })");
  expect_fires(bench, optimize_basic, 1e-4);
  EXPECT_EQ(bench.ops(), "Conv");
  PassBench scaled(R"(g (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] z)
      <float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[2, 1, 1] m = {2, 3}> {
    c = Conv (x, w)
    z = Mul (c, m)
  })");
  expect_fires(scaled, optimize_basic);
  EXPECT_EQ(scaled.node("Conv").inputs.size(), 2u);  // no bias out of nothing
}

TEST(BasicTest, FusesMatMulAndAdd) {
  PassBench matrix(R"(g (float[2, 3] x) => (float[2, 2] z) <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}> {
    [m] t = MatMul (x, w)
    z = Add (b, t)
  })");
  expect_fires(matrix, optimize_basic);
  EXPECT_EQ(matrix.ops(), "Gemm");
  EXPECT_EQ(matrix.node("Gemm").name, "m/MatMulAddFusion");
  PassBench images(
      R"(g (float[5, 2, 3] x) => (float[5, 2, 2] z) <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}> {
    t = MatMul (x, w)
    z = Add (t, b)
  })");
  expect_fires(images, optimize_basic);
  EXPECT_EQ(images.ops(), "Reshape Gemm Reshape");
}

TEST(BasicTest, KeepsMatMulAndAddThatAreNoGemm) {
  const std::string weights = "float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}, float[1] s = {1}> ";
  PassBench scalar("g (float[2, 3] x) => (float[2, 2] z) <" + weights + "{ t = MatMul (x, w) z = Add (t, s) }");
  expect_idle(scalar, optimize_basic);
  PassBench readers("g (float[2, 3] x) => (float[2, 2] z, float[2, 2] t) <" + weights +
                    "{ t = MatMul (x, w) z = Add (t, b) }");
  expect_idle(readers, optimize_basic);
  PassBench unknown("g (float[N, 2, 3] x) => (float[N, 2, 2] z) <" + weights + "{ t = MatMul (x, w) z = Add (t, b) }");
  expect_idle(unknown, optimize_basic);
}

TEST(BasicTest, StoresConstantsWithoutTouchingTheRest) {
  PassBench bench(R"(g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] z) {
    w = Constant <value = float[1, 1, 1, 1] {2}> ()
    z = Conv (x, w)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Conv");
  EXPECT_EQ(bench.node("Conv").find("group"), nullptr);
}

TEST(BasicTest, KeepsWhatDoesNotWorkPerChannel) {
  const std::string head =
      "g (float[1, 3, 2, 2] x) => (float[1, 2, 2, 2] z) <float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, 6}, ";
  PassBench place(head + "float[2, 2] m = {2, 3, 4, 5}> { c = Conv (x, w) z = Mul (c, m) }");
  expect_idle(place, optimize_basic);
  PassBench first(head + "float[2, 1, 1] m = {2, 3}> { c = Conv (x, w) z = Add (m, c) }");
  expect_idle(first, optimize_basic);
  PassBench readers(
      "g (float[1, 3, 2, 2] x) => (float[1, 2, 2, 2] z, float[1, 2, 2, 2] c) <float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, "
      "6}, "
      "float[2, 1, 1] m = {2, 3}> { c = Conv (x, w) z = Add (c, m) }");
  expect_idle(readers, optimize_basic);
}

}  // namespace
}  // namespace quarkq::pass_tests
