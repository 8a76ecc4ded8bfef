// SPDX-License-Identifier: MIT
// simplify_model on chains of Reshape, Transpose, Slice, Concat and Unsqueeze, and on shapes that depend on the batch.
#include "support/simplify_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::PassBench;

TEST(SimplifyViewsTest, MergesReshapes) {
  PassBench bench(
      R"(g (float[2, 3, 4] x) => (float[6, 4] y) <int64[1] s = {24}, int64[2] t = {2, 12}, int64[2] u = {6, 4}> {
    a = Reshape (x, s) b = Reshape (a, t) c = Reshape (b, u) y = Neg (c) })");
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Reshape Neg");
  PassBench zero(R"(g (float[2, 3, 4] x) => (float[2, 3, 4] y) <int64[2] s = {2, 12}, int64[3] t = {0, 3, 4}> {
    a = Reshape (x, s) b = Reshape (a, t) y = Neg (b) })");
  expect_idle(zero, simplify_model);
}

TEST(SimplifyViewsTest, MergesReshapesByComputedShapesInCompatModeOnly) {
  // s is 2, which only a run tells. A 0 in the shape refers to a dimension of the first Reshape's output.
  const auto merged = [](const std::string& last, const std::vector<std::string>& sets) {
    const std::string body = cat(
        "g (float[2, 3, 4] x, float[1] f) => (float[k, m, n] y) <float[1] two = {2}, int64[3] t = {2, 4, 3}, int64[2] "
        "u = {",
        last,
        "}> { k = Sub (f, f) h = Add (k, two) s = Cast <to = 7> (h) c = Concat <axis = 0> (s, u) a = Reshape (x, t) "
        "b = Reshape (a, c) y = Neg (b) }");
    PassBench bench(test::model_of(body, 17, 10), test::settings_for("A8W8", sets));
    bench.run(simplify_model);
    return bench.ops();
  };
  const std::vector<std::string> compat = {"quarkq.compat=quark-0.13"};
  EXPECT_EQ(merged("3, -1", compat), "Sub Add Cast Concat Reshape Neg");
  EXPECT_EQ(merged("0, -1", compat), "Sub Reshape Add Cast Concat Reshape Neg");
  EXPECT_EQ(merged("3, -1", {}), "Sub Reshape Add Cast Concat Reshape Neg");
}

TEST(SimplifyViewsTest, MergesUnsqueezes) {
  PassBench bench(R"(g (float[2, 3] x) => (float[1, 1, 2, 3, 1] y) <int64[2] s = {0, -1}, int64[1] t = {1}> {
    a = Unsqueeze (x, s) b = Unsqueeze (a, t) y = Neg (b) })");
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Unsqueeze Neg");
  EXPECT_EQ(bench.graph().value(bench.node("Unsqueeze").input(1)).name, "a_axes");
  EXPECT_EQ(
      simplified("g (float[2, 3] x) => (float[1, 2, 1, 3] y) { a = Unsqueeze <axes = [1]> (x) b = Unsqueeze <axes = "
                 "[0]> (a) y = Neg (b) }",
                 11),
      "Unsqueeze Neg");
}

TEST(SimplifyViewsTest, MergesTransposes) {
  EXPECT_EQ(simplified(R"(g (float[2, 3, 4] x) => (float[4, 3, 2] y) {
    a = Transpose <perm = [1, 2, 0]> (x) b = Transpose <perm = [1, 0, 2]> (a) y = Neg (b) })"),
            "Transpose Neg");
  EXPECT_EQ(simplified(R"(g (float[2, 3, 4] x) => (float[2, 3, 4] y) {
    r = Relu (x) a = Transpose <perm = [1, 2, 0]> (r) b = Transpose <perm = [2, 0, 1]> (a) y = Neg (b) })"),
            "Relu Neg");
  PassBench seen(R"(g (float[2, 3] x) => (float[2, 3] y, float[3, 2] a) {
    a = Transpose (x) b = Transpose (a) y = Neg (b) })");
  expect_idle(seen, simplify_model);
}

TEST(SimplifyViewsTest, TransposeOfOnesBecomesAReshape) {
  PassBench bench(R"(g (float[4, 6] x) => (float[1, 4, 6] y) <int64[3] s = {4, 1, 6}> {
    r = Relu (x) a = Reshape (r, s) b = Transpose <perm = [1, 0, 2]> (a) y = Neg (b) })");
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Relu Reshape Neg");
  PassBench alone("g (float[1, 4, 6] x) => (float[4, 1, 6] y) { a = Transpose <perm = [1, 0, 2]> (x) y = Neg (a) }");
  expect_idle(alone, simplify_model);
  PassBench moves(R"(g (float[4, 6] x) => (float[6, 4] y) <int64[2] s = {4, 6}> {
    a = Transpose (x) b = Reshape (a, s) y = Transpose (b) })");
  expect_idle(moves, simplify_model);
}

TEST(SimplifyViewsTest, TransposesMeetAcrossAView) {
  EXPECT_EQ(simplified(R"(g (float[2, 12, 4] x) => (float[2, 3, 4, 4] y) <int64[4] s = {2, 4, 3, 4}> {
    a = Transpose <perm = [0, 2, 1]> (x) b = Reshape (a, s) c = Transpose <perm = [0, 2, 3, 1]> (b) y = Neg (c) })"),
            "Reshape Neg");
  EXPECT_EQ(simplified(R"(g (float[2, 1, 4] x) => (float[2, 4] y) <int64[1] z = {1}> {
    a = Transpose <perm = [2, 1, 0]> (x) b = Squeeze (a, z) c = Transpose <perm = [1, 0]> (b) y = Neg (c) })"),
            "Squeeze Neg");
  EXPECT_EQ(simplified(R"(g (float[2, 4] x) => (float[2, 1, 4] y) <int64[1] z = {-2}> {
    a = Transpose <perm = [1, 0]> (x) b = Unsqueeze (a, z) c = Transpose <perm = [2, 1, 0]> (b) y = Neg (c) })"),
            "Unsqueeze Neg");
  PassBench crossing(R"(g (float[6, 4] x) => (float[2, 3, 4] y) <int64[3] s = {2, 4, 3}> {
    a = Transpose (x) b = Reshape (a, s) y = Transpose <perm = [0, 2, 1]> (b) })");
  expect_idle(crossing, simplify_model);
}

TEST(SimplifyViewsTest, MergesSlices) {
  const std::string lists =
      "<int64[1] s = {1}, int64[1] e = {3}, int64[1] p = {0}, int64[1] q = {-1}, int64[1] t = {1}>";
  EXPECT_EQ(simplified(cat("g (float[4, 5, 6] x) => (float[2, 5, 2] y) ", lists,
                           " { a = Slice (x, s, e, p, t) b = Slice (a, s, e, q, t) y = Neg (b) }")),
            "Slice Neg");
  PassBench shared(
      cat("g (float[4, 5, 6] x) => (float[2, 5, 2] y, float[2, 5, 2] z) ", lists,
          " { a = Slice (x, s, e, p, t) y = Slice (a, s, e, q, t) b = Slice (a, p, e, q, t) c = Slice (b, p, s, p, t)",
          " z = Concat <axis = 0> (c, c) }"));
  expect_fires(shared, simplify_model);
  EXPECT_EQ(shared.ops(), "Slice Slice Slice Concat");  // the third cuts an axis that the first has cut
  PassBench axis(cat("g (float[4, 5, 6] x) => (float[1, 5, 6] y) ", lists,
                     " { a = Slice (x, s, e, p, t) y = Slice (a, s, e, p, t) }"));
  EXPECT_TRUE(axis.run(simplify_model));  // equal constants become one
  EXPECT_EQ(axis.ops(), "Slice Slice");
}

TEST(SimplifyViewsTest, MergesConcats) {
  PassBench bench(R"(g (float[2] x, float[2] u) => (float[12] y) {
    a = Concat <axis = 0> (x, u) b = Concat <axis = 0> (u, u) y = Concat <axis = 0> (a, b, a) })");
  expect_fires(bench, simplify_model);
  EXPECT_EQ(bench.ops(), "Concat");
  EXPECT_EQ(bench.node("Concat").inputs.size(), 6u);
  PassBench axis("g (float[2, 2] x) => (float[4, 4] y) { a = Concat <axis = 1> (x, x) y = Concat <axis = 0> (a, a) }");
  expect_idle(axis, simplify_model);
  PassBench seen(
      "g (float[2] x) => (float[4] y, float[4] z) { a = Concat <axis = 0> (x, x) y = Concat <axis = 0> (a) z = Neg (a) "
      "}");
  expect_fires(seen, simplify_model);
  EXPECT_EQ(seen.ops(), "Concat Neg");
}

TEST(SimplifyViewsTest, KeepsReducedDimensions) {
  EXPECT_EQ(simplified(R"(g (float[2, 3, 4] x) => (float[2, 3, 1] y) <int64[1] a = {2}, int64[1] b = {-1}> {
    r = ReduceSum <keepdims = 0> (x, a) y = Unsqueeze (r, b) })"),
            "ReduceSum");
  PassBench other(R"(g (float[2, 3, 4] x) => (float[2, 1, 3] y) <int64[1] a = {2}, int64[1] b = {1}> {
    r = ReduceSum <keepdims = 0> (x, a) y = Unsqueeze (r, b) })");
  expect_idle(other, simplify_model);
}

/// The shape that the only Reshape gets.
std::vector<int64_t> fixed_shape(const std::string& body) {
  PassBench bench(body);
  EXPECT_TRUE(bench.run(simplify_model));
  const ir::Tensor* shape = bench.graph().constant(bench.node("Reshape").input(1));
  return shape == nullptr ? std::vector<int64_t>() : ir::to_int64(*shape).value();
}

const std::string kShapes =
    "<int64[1] z = {0}, int64[1] m = {-1}, int64[1] three = {3}, int64 i = {0}, int64 j = {1}, int64 two = {2}>";

TEST(SimplifyViewsTest, ShapesWithNamedDimensionsBecomeConstant) {
  EXPECT_EQ(fixed_shape(cat("g (float[N, 6, 1] x) => (float[A, B] y) ", kShapes,
                            " { s = Shape (x) n = Gather (s, i) u = Unsqueeze (n, z) c = Concat <axis = 0> (u, m)",
                            " b = Reshape (x, c) y = Neg (b) }")),
            (std::vector<int64_t>{-1, 6}));
  EXPECT_EQ(
      fixed_shape(cat("g (float[N, M, 6] x) => (float[A, B, C] y) ", kShapes,
                      " { s = Shape (x) n = Gather (s, i) k = Gather (s, j) p = Mul (n, k) q = Mul (p, two)",
                      " u = Unsqueeze (q, z) c = Concat <axis = 0> (u, m, three) b = Reshape (x, c) y = Neg (b) }")),
      (std::vector<int64_t>{-1, 1, 3}));
}

TEST(SimplifyViewsTest, ShapesWithTwoUnknownDimensionsStay) {
  PassBench bench(cat("g (float[N, M, 3] x) => (float[A, B] y) ", kShapes,
                      " { s = Shape (x) n = Gather (s, i) u = Unsqueeze (n, z) c = Concat <axis = 0> (u, m)",
                      " b = Reshape (x, c) y = Neg (b) }"));
  bench.run(simplify_model);
  EXPECT_EQ(bench.ops(), "Shape Gather Unsqueeze Concat Reshape Neg");
}

/// The Reshape gives the shape that is there already, which only values tell: it goes.
TEST(SimplifyViewsTest, FollowsValuesIntoTheShapesOfTileRangeAndExpand) {
  const auto expect_gone = [](const char* body, const char* dims) {
    const std::string model =
        cat("g (float[B, 2] x) => (float[B, 1, 2] y) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, "
            "int64[1] minus = {-1}, int64 from = {0}, int64 step = {1}, float[1, 1, 2] w = {1, 2}> { s = Shape (x) "
            "b = Gather (s, zero) ",
            body, " f = Concat <axis = 0> (", dims, ") r = Reshape (t, f) n = Neg (r) y = Add (n, w) }");
    PassBench bench(model);
    EXPECT_TRUE(bench.run(simplify_model)) << body;
    const std::string ops = bench.ops();
    EXPECT_EQ(ops.find("Reshape"), std::string::npos) << body << ": " << ops;
    EXPECT_EQ(ops.find("Equal"), std::string::npos) << body << ": " << ops;
  };
  expect_gone("c = Concat <axis = 0> (b, one, one) t = Tile (w, c)", "b, one, two");
  expect_gone(
      "c = Squeeze (b, zero) i = Range (from, c, step) k = Cast <to = 1> (i) a = Concat <axis = 0> (one, two) "
      "t = Unsqueeze (k, a)",
      "b, one, one");
  expect_gone(
      "c = Concat <axis = 0> (b, minus, two) h = Constant <value = int64[1] {3}> () "
      "o = ConstantOfShape <value = int64[1] {1}> (h) m = Mul (o, minus) e = Equal (c, m) p = Where (e, o, c) "
      "t = Expand (w, p)",
      "b, one, two");
}

TEST(SimplifyViewsTest, KeepsComparisonsThatTheBatchDecides) {
  PassBench bench(
      "g (float[B, 2] x) => (bool[1] y) <int64[1] zero = {0}, int64[1] three = {3}> { s = Shape (x) b = Gather (s, "
      "zero) e = Equal (b, three) y = Not (e) }");
  bench.run(simplify_model);
  EXPECT_EQ(bench.ops(), "Shape Gather Equal Not");
}

}  // namespace
}  // namespace quarkq::pass_tests
