// SPDX-License-Identifier: MIT
// Arguments from attributes and inputs, stored floats, and what is looked up in a graph.
#include "ir/constants.h"

#include "ir/traversal.h"
#include "support/pass_support.h"

namespace quarkq::ir {
namespace {

using Integers = std::optional<std::vector<int64_t>>;

Integers known(std::vector<int64_t> values) { return values; }

const char* const kReduce =
    "g (float[2, 3] x) => (float[N] y) <int64[2] a = {0, -1}, int32[1] b = {1}, float[1] f = {2}> ";

TEST(ArgumentsTest, IntegersComeFromAttributeOrInput) {
  struct Row {
    const char* nodes;
    int opset;
    Integers expected;
  };
  const Row rows[] = {
      {"{ y = ReduceSum (x, a) }", 13, known({0, -1})},
      {"{ y = ReduceSum <axes = [1]> (x) }", 12, known({1})},
      {"{ y = ReduceSum (x) }", 13, known({})},
      {"{ c = Constant <value_ints = [1]> () y = ReduceSum (x, c) }", 13, known({1})},
      {"{ c = Neg (a) y = ReduceSum (x, c) }", 13, std::nullopt},
  };
  for (const Row& row : rows) {
    test::PassBench bench(cat(kReduce, row.nodes), row.opset);
    EXPECT_EQ(integers_of(bench.graph(), bench.node("ReduceSum"), 1, "axes"), row.expected) << row.nodes;
  }
}

TEST(ArgumentsTest, NumbersComeFromAttributeOrInput) {
  struct Row {
    const char* nodes;
    int opset;
    std::optional<double> low;
  };
  const char* const kHead =
      "g (float[4] x) => (float[4] y) <float s = {0.5}, float[1] one = {1.5}, float[2] two = {1, 2}, float none = {}> ";
  const Row rows[] = {
      {"{ y = Clip <min = 0.25> (x) }", 6, 0.25},
      {"{ y = Clip (x) }", 13, -9},
      {"{ y = Clip (x, s) }", 13, 0.5},
      {"{ y = Clip (x, one) }", 13, 1.5},
      {"{ y = Clip (x, two) }", 13, std::nullopt},
      {"{ m = Neg (s) y = Clip (x, m) }", 13, std::nullopt},
      {"{ y = Clip (x, , s) }", 13, -9},
  };
  for (const Row& row : rows) {
    const std::string head = std::string(kHead).replace(std::string(kHead).find(", float none = {}"), 17, "");
    test::PassBench bench(head + row.nodes, row.opset);
    EXPECT_EQ(number_of(bench.graph(), bench.node("Clip"), 1, "min", -9), row.low) << row.nodes;
  }
}

TEST(ArgumentsTest, RanksAndNames) {
  test::PassBench bench(
      "g (float[2, 3] x, float[N, 2, 2] s) => (float[2, 3] y) <float[3] w = {1, 2, 3}> "
      "{ [first] a = Add (x, w) [second] b = Neg (a) [first] y = Relu (b) }");
  const Graph& graph = bench.graph();
  EXPECT_EQ(rank_of(graph, bench.value("w")), 1);
  EXPECT_EQ(rank_of(graph, bench.value("x")), 2);
  EXPECT_EQ(rank_of(graph, bench.value("s")), 3);
  EXPECT_EQ(rank_of(graph, {}), std::nullopt);
  ValueType unknown;
  unknown.element = ElementType::kFloat;
  EXPECT_EQ(rank_of(graph, GraphEdit(bench.model.graph).add_value("u", unknown)), std::nullopt);
  EXPECT_EQ(graph.node(node_named(graph, "first")).op, "Add");
  EXPECT_EQ(graph.node(node_named(graph, "second")).op, "Neg");
  EXPECT_FALSE(node_named(graph, "third").valid());
}

TEST(ArgumentsTest, NestedGraphsInOrder) {
  test::PassBench bench(
      "g (bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] p) { p = Neg (x) }, "
      "else_branch = e () => (float[2] q) { q = Relu (x) }> }");
  const std::vector<const Graph*> nested = nested_graphs(bench.node("If"));
  ASSERT_EQ(nested.size(), 2u);
  EXPECT_EQ(nested[0]->node(nested[0]->order()[0]).op, "Neg");
  EXPECT_EQ(nested[1]->node(nested[1]->order()[0]).op, "Relu");
  Node copy = bench.node("If");
  int seen = 0;
  for (Attribute& attribute : copy.attributes)
    change_nested(attribute, [&](GraphPtr& graph) { seen += graph != nullptr; });
  EXPECT_EQ(seen, 2);
  EXPECT_TRUE(nested_graphs(Node{}).empty());
}

TEST(ArgumentsTest, StoredFloatsAreThoseThatNobodyCanOverride) {
  test::PassBench bench(
      "g (float[2] x, float[2] given = {5, 6}) => (float[2] y) <float[2] f = {1, 2}, float16[2] h = {16896, 17408}, "
      "int64[2] i "
      "= {1, 2}, double[2] d = {1, 2}> { a = Add (x, f) b = Cast <to = 1> (h) c = Cast <to = 1> (i) e = Cast <to = 1> "
      "(d) s = Sum (a, b, c, e) y = Mul (s, given) }");
  const Graph& graph = bench.graph();
  EXPECT_NE(stored_floats(graph, bench.value("f")), nullptr);
  EXPECT_NE(stored_floats(graph, bench.value("h")), nullptr);
  EXPECT_EQ(stored_floats(graph, bench.value("i")), nullptr);
  EXPECT_EQ(stored_floats(graph, bench.value("d")), nullptr);
  EXPECT_EQ(stored_floats(graph, bench.value("x")), nullptr);
  EXPECT_EQ(stored_floats(graph, {}), nullptr);
  EXPECT_EQ(stored_floats(graph, bench.value("given")), nullptr) << "a caller may feed another one";
  EXPECT_EQ(float_values(*graph.constant(bench.value("h"))).value(), (std::vector<float>{3, 4}));
  EXPECT_EQ(float_values(*graph.constant(bench.value("i"))).status().code(), Code::kInternal);
}

TEST(ArgumentsTest, StoredHalvesAreRoundedToNearest) {
  const std::vector<float> values = {1.0f, 1.0f + 0x1p-11f, 1.0f + 0x1.8p-10f, 65519.0f, 65520.0f, -1e-8f, 0.1f};
  const Tensor half = store_floats(values, ElementType::kFloat16, {7});
  const std::vector<double> back = to_double(half).value();
  EXPECT_EQ(back[0], 1.0);
  EXPECT_EQ(back[1], 1.0);           // a tie goes to the even one
  EXPECT_EQ(back[2], 1.0 + 0x1p-9);  // and here up
  EXPECT_EQ(back[3], 65504.0);
  EXPECT_TRUE(std::isinf(back[4]));
  EXPECT_EQ(back[5], 0.0);
  EXPECT_NEAR(back[6], 0.1, 0x1p-14);
  EXPECT_EQ(float_values(store_floats(values, ElementType::kFloat, {7})).value(), values);
}

}  // namespace
}  // namespace quarkq::ir
