// SPDX-License-Identifier: MIT
// Nodes without a name get one of their output and operator; names that are there stay.
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

std::vector<std::string> node_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.order()) names.push_back(graph.node(id).name);
  return names;
}

TEST(NameNodesTest, NamesAreMadeOfOutputAndOperator) {
  PassBench bench("g (float[2] x) => (float[2] y) { a = Relu (x) [second] b = Neg (a) y = Abs (b) }");
  EXPECT_TRUE(bench.run(name_nodes));
  EXPECT_EQ(node_names(bench.graph()), (std::vector<std::string>{"a_Relu", "second", "y_Abs"}));
  EXPECT_FALSE(bench.run(name_nodes));
}

TEST(NameNodesTest, NewNamesGiveWayToThoseThatAreThere) {
  PassBench bench("g (float[2] x) => (float[2] y) { a = Relu (x) [a_Relu] b = Neg (a) [a_Relu_1] y = Abs (b) }");
  EXPECT_TRUE(bench.run(name_nodes));
  EXPECT_EQ(node_names(bench.graph()), (std::vector<std::string>{"a_Relu_2", "a_Relu", "a_Relu_1"}));
}

TEST(NameNodesTest, ANodeWithoutItsFirstOutputIsNamedAfterItsOperator) {
  PassBench bench("g (float[4] x) => (float[2] y) <int64[2] s = {2, 2}> { a, y = Split <axis = 0> (x, s) }");
  ir::GraphEdit edit(bench.model.graph);
  edit.set_output(bench.node("Split").id, 0, {});
  EXPECT_TRUE(bench.run(name_nodes));
  EXPECT_EQ(node_names(bench.graph()), (std::vector<std::string>{"Split"}));
}

TEST(NameNodesTest, OnlyWhereASettingAsksForIt) {
  EXPECT_FALSE(test::settings_for("A8W8").names_nodes());
  EXPECT_TRUE(test::settings_for("A8W8", {"legalize.node_names=true"}).names_nodes());
}

const bool kNameCases =
    test::add_pass_cases({{.pass = "name-nodes",
                           .name = "TwoOfThree",
                           .model = "g (float[2] x) => (float[2] y) { a = Relu (x) [second] b = Neg (a) y = Abs (b) }",
                           .guards = {{"AllHaveNames", "a = Relu (x) [second] b = Neg (a) y = Abs (b)",
                                       "[one] a = Relu (x) [second] b = Neg (a) [three] y = Abs (b)"}},
                           .sets = {"legalize.node_names=true"},
                           .tolerance = 0}});

}  // namespace
}  // namespace quarkq::pass_tests
