// SPDX-License-Identifier: MIT
// Transposes on their way through a graph: where they go, what they are called, and when they stay.
#include "pipeline/run/pass_runner.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::PassBench;

/// [2, 6, 3, 5], made [3, 2, 5, 6] called "a"; `body` says what happens to it.
std::string turned(const std::string& outputs, const std::string& body, const std::string& constants = "") {
  const std::string list = constants.empty() ? "" : " <" + constants + ">";
  return "g (float[2, 6, 3, 5] x) => (" + outputs + ")" + list + " { [t] a = Transpose <perm = [2, 0, 3, 1]> (x) " +
         body + " }";
}

constexpr const char* kBack = "<perm = [1, 3, 0, 2]>";

/// "Relu x -> z; ...": operators, the tensors between them, names where a node has one.
std::string wiring(const PassBench& bench) {
  std::vector<std::string> lines;
  for (const ir::NodeId id : bench.graph().order()) {
    const ir::Node& node = bench.graph().node(id);
    std::vector<std::string> words{node.op};
    for (const ir::ValueId input : node.inputs) {
      if (input.valid() && !bench.graph().value(input).is_initializer())
        words.push_back(bench.graph().value(input).name);
    }
    words.push_back("->");
    for (const ir::ValueId output : node.outputs) words.push_back(bench.graph().value(output).name);
    lines.push_back(join(words, " "));
  }
  return join(lines, "; ");
}

TEST(BasicTransposesTest, TwoThatCancelVanish) {
  PassBench bench(
      turned("float[2, 6, 3, 5] z", cat("[r] b = Relu (a) [s] c = Exp (b) [u] z = Transpose ", kBack, " (c)")));
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(wiring(bench), "Relu x -> r; Exp r -> z");
}

TEST(BasicTransposesTest, TwoThatDoNotCancelBecomeOne) {
  PassBench bench(turned("float[5, 6, 3, 2] z", "[r] b = Relu (a) [u] z = Transpose <perm = [2, 3, 0, 1]> (b)"));
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(wiring(bench), "Relu x -> r; Transpose r -> z");
  EXPECT_EQ(bench.node("Transpose").name, "u");
}

TEST(BasicTransposesTest, NamesWhatIsNew) {
  PassBench bench(turned(
      "float[2, 6, 3, 5] z, float[3, 2, 5, 6] y",
      cat("[r] b = Relu (a) [u] z = Transpose ", kBack, " (b) [l] y = Softsign (b) [m] q = LRN <size = 1> (y)")));
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(wiring(bench).substr(0, 32), "Relu x -> z; Transpose z -> b; S");
  EXPECT_EQ(bench.graph().producer(bench.value("b"))->name, "Transpose");
}

TEST(BasicTransposesTest, StayWhereNothingIsWon) {
  PassBench no_other(turned("float[3, 2, 5, 6] z", "b = Relu (a) z = Exp (b)"));
  expect_idle(no_other, optimize_basic);
  PassBench no_rule(turned("float[2, 6, 3, 5] z", cat("b = LRN <size = 1> (a) z = Transpose ", kBack, " (b)")));
  expect_idle(no_rule, optimize_basic);
  PassBench is_output(
      turned("float[2, 6, 3, 5] z, float[3, 2, 5, 6] b", cat("b = Relu (a) z = Transpose ", kBack, " (b)")));
  expect_idle(is_output, optimize_basic);
  PassBench parting(turned("float[3, 6, 2, 5] z, float[3, 2, 5, 6] y",
                           "b = Relu (a) z = Transpose <perm = [0, 3, 1, 2]> (b) y = LRN <size = 1> (b)"));
  expect_idle(parting, optimize_basic);
  PassBench without_permutation(
      "g (float[2, 3] x) => (float[2, 3] z) { a = Transpose (x) b = Exp (a) z = Transpose (b) }");
  expect_idle(without_permutation, optimize_basic);
}

TEST(BasicTransposesTest, WherePathsPartOneMustCancel) {
  PassBench bench(turned("float[2, 6, 3, 5] z, float[3, 2, 5, 6] y",
                         cat("[r] b = Relu (a) [u] z = Transpose ", kBack, " (b) [l] y = LRN <size = 1> (b)")));
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(wiring(bench), "Relu x -> z; Transpose z -> b; LRN b -> y");
}

struct Through {
  const char* name;
  const char* outputs;
  const char* body;
  const char* constants;
  const char* ops;
};

class BasicTransposesThroughTest : public ::testing::TestWithParam<Through> {};

TEST_P(BasicTransposesThroughTest, KeepsTheFunction) {
  PassBench bench(turned(GetParam().outputs, GetParam().body, GetParam().constants));
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), GetParam().ops);
}

constexpr const char* kSame = "float[2, 6, 3, 5] z";
INSTANTIATE_TEST_SUITE_P(
    Operators, BasicTransposesThroughTest,
    ::testing::Values(
        Through{"AddConstant", kSame, "b = Add (a, w) z = Transpose <perm = [1, 3, 0, 2]> (b)",
                "float[2, 1, 1] w = {1, 2}", "Add"},
        Through{"AddScalar", kSame, "b = Add (w, a) z = Transpose <perm = [1, 3, 0, 2]> (b)", "float w = {1}", "Add"},
        Through{"SharedConstant", kSame, "b = Add (a, w) c = Mul (b, w) z = Transpose <perm = [1, 3, 0, 2]> (c)",
                "float[2, 1, 1] w = {3, 2}", "Add Mul"},
        Through{"Concat", "float[2, 12, 3, 5] z",
                "b = Concat <axis = -1> (a, a) z = Transpose <perm = [1, 3, 0, 2]> (b)", "", "Concat"},
        Through{"Split", "float[2, 3, 3, 5] z, float[3, 2, 5, 3] y",
                "b, c = Split <axis = 3> (a) z = Transpose <perm = [1, 3, 0, 2]> (b) y = LRN <size = 1> (c)", "",
                "Split Transpose LRN"},
        Through{"Softmax", kSame, "b = Softmax <axis = 1> (a) z = Transpose <perm = [1, 3, 0, 2]> (b)", "", "Softmax"},
        Through{"ReduceKept", "float[2, 1, 3, 5] z",
                "b = ReduceMean <axes = [3]> (a) z = Transpose <perm = [1, 3, 0, 2]> (b)", "", "ReduceMean"},
        Through{"ReduceDropped", "float[2, 6, 3] z",
                "b = ReduceSum <keepdims = 0> (a, w) z = Transpose <perm = [1, 2, 0]> (b)", "int64[1] w = {2}",
                "ReduceSum"},
        Through{"ReduceAll", "float z", "z = ReduceMean <keepdims = 0> (a)", "", "ReduceMean"},
        Through{"Slice", "float[2, 6, 1, 3] z", "b = Slice (a, s, e, w) z = Transpose <perm = [1, 3, 0, 2]> (b)",
                "int64[2] s = {1, 2}, int64[2] e = {4, 3}, int64[2] w = {2, 0}", "Slice"},
        Through{"SliceWithoutAxes", "float[2, 6, 1, 5] z",
                "b = Slice (a, s, e) z = Transpose <perm = [1, 3, 0, 2]> (b)",
                "int64[2] s = {1, 0}, int64[2] e = {2, 2}", "Slice"},
        Through{"Pad", "float[2, 7, 3, 6] z", "b = Pad (a, p) z = Transpose <perm = [1, 3, 0, 2]> (b)",
                "int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}", "Pad"},
        Through{"Tile", "float[4, 6, 3, 5] z", "b = Tile (a, p) z = Transpose <perm = [1, 3, 0, 2]> (b)",
                "int64[4] p = {1, 2, 1, 1}", "Tile"},
        Through{"Unsqueeze", "float[2, 1, 6, 3, 5] z",
                "b = Unsqueeze (a, p) z = Transpose <perm = [2, 1, 4, 0, 3]> (b)", "int64[1] p = {1}", "Unsqueeze"},
        Through{"Gather", "float[2, 6, 5] z", "b = Gather (a, p) z = Transpose <perm = [0, 2, 1]> (b)", "int64 p = {1}",
                "Gather"},
        Through{"Reshape", "float[3, 2, 5, 2, 3] z", "z = Reshape (a, p)", "int64[5] p = {3, 2, 5, 2, 3}",
                "Reshape Transpose"},
        Through{"Where", kSame, "b = Greater (a, w) c = Where (b, a, w) z = Transpose <perm = [1, 3, 0, 2]> (c)",
                "float[6] w = {1, 0, 1, 0, 1, 0}", "Greater Where"}),
    [](const auto& info) { return info.param.name; });

TEST(BasicTransposesTest, GatherWithAListStays) {
  PassBench bench(turned("float[2, 2, 6, 5] z", "b = Gather (a, p) z = Transpose <perm = [0, 1, 3, 2]> (b)",
                         "int64[2] p = {1, 0}"));
  expect_idle(bench, optimize_basic);
}

TEST(BasicTransposesTest, ReshapeOfOnesBecomesATranspose) {
  PassBench bench(R"(g (float[3, 1, 2] x) => (float[2, 3, 1] z) <int64[3] s = {2, 3, 1}> {
    a = Transpose <perm = [2, 1, 0]> (x)
    z = Reshape (a, s)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Transpose");
  EXPECT_EQ(bench.node("Transpose").ints_or("perm", {}), (std::vector<int64_t>{2, 0, 1}));
}

TEST(BasicTransposesTest, ReshapeThatJoinsDimensionsStays) {
  PassBench joined(turned("float[6, 5, 6] z", "z = Reshape (a, s)", "int64[3] s = {6, 5, 6}"));
  expect_idle(joined, optimize_basic);
  PassBench across(turned("float[2, 3, 5, 2, 3] z", "z = Reshape (a, s)", "int64[5] s = {2, 3, 5, 2, 3}"));
  expect_idle(across, optimize_basic);
}

TEST(BasicTransposesTest, ShapeIsReordered) {
  PassBench bench("g (float[N, 6, 3, 5] x) => (int64[4] z) { a = Transpose <perm = [2, 0, 3, 1]> (x) z = Shape (a) }");
  EXPECT_TRUE(bench.run(optimize_basic));
  EXPECT_EQ(bench.ops(), "Shape Gather");
  EXPECT_FALSE(bench.run(optimize_basic));
}

TEST(BasicTransposesTest, AnInputThatIsAnOutputIsCopied) {
  PassBench bench(R"(g (float[2, 3] x) => (float[2, 3] z) {
    a = Transpose <perm = [1, 0]> (x)
    z = Transpose <perm = [1, 0]> (a)
  })");
  expect_fires(bench, optimize_basic);
  EXPECT_EQ(bench.ops(), "Identity");
}

TEST(BasicTransposesTest, OriginsAreCarried) {
  PassBench bench(turned("float[2, 6, 3, 5] z, float[3, 2, 5, 6] y",
                         cat("[r] b = Relu (a) [u] z = Transpose ", kBack, " (b) [l] y = LRN <size = 1> (b)")));
  for (const ir::NodeId id : bench.graph().order()) ir::GraphEdit(bench.model.graph).node(id).origins = {id};
  ASSERT_TRUE(bench.run(optimize_basic));
  for (const ir::NodeId id : bench.graph().order()) EXPECT_FALSE(bench.graph().node(id).origins.empty());
}

}  // namespace
}  // namespace quarkq::pass_tests
