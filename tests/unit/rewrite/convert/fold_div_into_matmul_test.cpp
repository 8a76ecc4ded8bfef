// SPDX-License-Identifier: MIT
// Divisions around matrix products that go into stored weights, and those that stay where they are.
#include "support/convert_bench.h"

namespace quarkq {
namespace {

using test::ConvertBench;

const char* const kStep = "fold-div-into-matmul";

/// `nodes` make y of x [2, 3, 4]; a division of what they scale by `divisor` is among them.
std::string model_of(const std::string& nodes, const std::string& divisor = "float d = {0.7}",
                     const std::string& result = "float[2, 3, 4]") {
  return cat("g (float[2, 3, 4] x) => (", result, " y) <", divisor,
             ", float[4, 4] w = {1, -2, 3, 0.5, 0.25, 1, 2, 3, -4, 1, 0.1, 2, 3, -1, 0.3, 2}",
             ", float[4, 8] u = {1, 2, -3, 0.5, 0.1, 2, 0.3, -0.4, 0.5, 0.6, 7, -8, 9, 1, 2, 0.3,",
             " 4, 0.5, 6, -7, 0.8, 9, 1, -2, 3, 0.4, 0.5, 6, -7, 8, 9, 1}",
             ", float[4] b = {1, 2, -3, 0.5}, float[8] c = {1, 2, -3, 0.5, 4, -1, 2, 3}, float[1] one = {2}",
             ", int64[2] rows = {6, 4}, int64[3] cubes = {2, 3, 4}, int64[2] parts = {4, 4}> { ", nodes, " }");
}

struct FoldCase {
  const char* name;
  const char* nodes;
  const char* ops;
  friend std::ostream& operator<<(std::ostream& out, const FoldCase& row) { return out << row.name; }
};

class FoldDiv : public testing::TestWithParam<FoldCase> {};

TEST_P(FoldDiv, GoesIntoTheWeights) {
  const FoldCase& row = GetParam();
  ConvertBench bench(model_of(row.nodes));
  test::expect_converts(bench, kStep, 1, 1e-4);
  EXPECT_EQ(bench.ops(), row.ops);
  test::expect_unchanged(bench, kStep);
}

INSTANTIATE_TEST_SUITE_P(
    Projections, FoldDiv,
    testing::Values(
        FoldCase{"a product", "a = MatMul (x, w) s = Div (a, d) y = MatMul (s, w)", "MatMul MatMul"},
        FoldCase{"a bias after it", "a = MatMul (x, w) e = Add (a, b) s = Div (e, d) y = MatMul (s, w)",
                 "MatMul Add MatMul"},
        FoldCase{"a bias before it", "a = MatMul (x, w) e = Add (b, a) s = Div (e, d) y = MatMul (s, w)",
                 "MatMul Add MatMul"},
        FoldCase{"a bias of one number", "a = MatMul (x, w) e = Add (a, one) s = Div (e, d) y = MatMul (s, w)",
                 "MatMul Add MatMul"},
        FoldCase{"Gemm",
                 "r = Reshape (x, rows) a = Gemm <alpha = 0.5> (r, w) s = Div (a, d) h = MatMul (s, w)"
                 " y = Reshape (h, cubes)",
                 "Reshape Gemm MatMul Reshape"},
        FoldCase{"Gemm of transposed weights and a bias",
                 "r = Reshape (x, rows) a = Gemm <transB = 1, beta = 2.0> (r, w, b) s = Div (a, d) h = MatMul (s, w)"
                 " y = Reshape (h, cubes)",
                 "Reshape Gemm MatMul Reshape"},
        FoldCase{"views between",
                 "a = MatMul (x, w) e = Add (a, b) t = Transpose <perm = [1, 0, 2]> (e) r = Reshape (t, rows)"
                 " s = Div (r, d) h = MatMul (s, w) y = Reshape (h, cubes)",
                 "MatMul Add Transpose Reshape MatMul Reshape"},
        FoldCase{"the first part of a Split",
                 "a = MatMul (x, u) e = Add (a, c) p, q = Split <axis = -1> (e, parts) s = Div (p, d)"
                 " h = MatMul (s, w) y = Add (h, q)",
                 "MatMul Add Split MatMul Add"},
        FoldCase{"the second part of a Split",
                 "a = MatMul (x, u) e = Add (a, c) p, q = Split <axis = 2> (e, parts) s = Div (q, d)"
                 " h = MatMul (s, w) y = Add (h, p)",
                 "MatMul Add Split MatMul Add"},
        FoldCase{"scores of attention",
                 "q = MatMul (x, w) k = Transpose <perm = [0, 2, 1]> (x) a = MatMul (q, k) s = Div (a, d)"
                 " f = Softmax <axis = -1> (s) y = MatMul (f, x)",
                 "MatMul Transpose MatMul Softmax MatMul"}));

struct StayCase {
  const char* name;
  const char* nodes;
  const char* divisor = "float d = {0.7}";
  const char* result = "float[2, 3, 4]";
  friend std::ostream& operator<<(std::ostream& out, const StayCase& row) { return out << row.name; }
};

class FoldDivNot : public testing::TestWithParam<StayCase> {};

TEST_P(FoldDivNot, Stays) {
  const StayCase& row = GetParam();
  ConvertBench bench(model_of(row.nodes, row.divisor, row.result));
  test::expect_unchanged(bench, kStep);
}

const char* const kPlain = "a = MatMul (x, w) s = Div (a, d) y = MatMul (s, w)";
INSTANTIATE_TEST_SUITE_P(
    Divisions, FoldDivNot,
    testing::Values(
        StayCase{"by zero", kPlain, "float d = {0}"}, StayCase{"by one", kPlain, "float d = {1}"},
        StayCase{"by a number for each column", kPlain, "float[4] d = {1, 2, 3, 4}"},
        StayCase{"of another shape", kPlain, "float[1, 1, 1, 1] d = {0.7}", "float[1, 2, 3, 4]"},
        StayCase{"by a number so small that weights overflow",
                 "a = MatMul (x, u) s = Div (a, d) t = Transpose <perm = [0, 2, 1]> (s) y = MatMul (s, t)",
                 "float d = {2e-38}", "float[2, 3, 3]"},
        StayCase{"of a number", "a = MatMul (x, w) s = Div (d, a) y = MatMul (s, w)"},
        StayCase{"read by no product", "a = MatMul (x, w) s = Div (a, d) y = Relu (s)"},
        StayCase{"of what something else reads", "a = MatMul (x, w) s = Div (a, d) h = MatMul (s, w) y = Add (h, a)"},
        StayCase{"of what is no projection", "a = Relu (x) s = Div (a, d) y = MatMul (s, w)"},
        StayCase{"of an Add of two activations", "a = MatMul (x, w) e = Add (a, x) s = Div (e, d) y = MatMul (s, w)"},
        StayCase{"of a part whose bias is for all columns",
                 "a = MatMul (x, u) e = Add (a, one) p, q = Split <axis = -1> (e, parts) s = Div (p, d)"
                 " h = MatMul (s, w) y = Add (h, q)"},
        StayCase{"of a part along rows",
                 "r = Reshape (x, rows) a = MatMul (r, w) p, q = Split <axis = 0> (a, thirds) s = Div (p, d)"
                 " h = MatMul (s, w) j = Concat <axis = 0> (h, q) y = Reshape (j, cubes)",
                 "float d = {0.7}, int64[2] thirds = {2, 4}"},
        StayCase{"of the scores of two activations",
                 "k = Transpose <perm = [0, 2, 1]> (x) a = MatMul (x, k)"
                 " s = Div (a, d) f = Softmax <axis = -1> (s) y = MatMul (f, x)"}));

TEST(FoldDivTest, SharedWeightsAreCopied) {
  ConvertBench bench(model_of("a = MatMul (x, w) s = Div (a, d) h = MatMul (s, w) y = Add (h, x)"));
  const ir::Tensor before = bench.stored("MatMul", 1);
  EXPECT_EQ(bench.run(kStep), 1U);
  EXPECT_FALSE(bench.stored("MatMul", 1).same_as(before));
  EXPECT_TRUE(bench.graph().constant(bench.graph().find("w"))->same_as(before)) << "the other product reads it";
}

}  // namespace
}  // namespace quarkq
