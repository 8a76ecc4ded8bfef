// SPDX-License-Identifier: MIT
#include "ir/traversal.h"

#include <gtest/gtest.h>

#include "ir/check_graph.h"
#include "ir/dump.h"
#include "ir/edit.h"

namespace quarkq::ir {
namespace {

struct NodeRow {
  const char* output;
  std::vector<const char*> inputs;
};

/// Graph inputs and initializers by name, then nodes in list order; inputs may be defined by later rows.
Graph graph_of(const std::vector<const char*>& inputs, const std::vector<const char*>& weights,
               const std::vector<NodeRow>& nodes) {
  Graph graph;
  GraphEdit edit(graph);
  for (const char* name : inputs) edit.add_graph_input(edit.add_value(name));
  for (const char* name : weights) edit.add_initializer(name, Tensor::scalar(1.0f));
  for (const NodeRow& row : nodes) edit.add_value(row.output);
  for (const NodeRow& row : nodes) {
    NodeSpec spec{.op = "Op", .domain = "", .name = row.output, .inputs = {}, .outputs = {graph.find(row.output)}};
    for (const char* input : row.inputs) spec.inputs.push_back(*input == '\0' ? ValueId{} : graph.find(input));
    edit.add_node(std::move(spec));
  }
  return graph;
}

std::string names(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<std::string> parts;
  for (const NodeId id : order) parts.push_back(graph.node(id).name);
  return join(parts, " ");
}

struct OrderRow {
  const char* name;
  std::vector<const char*> inputs, weights;
  std::vector<NodeRow> nodes;
  const char* reference;
  const char* execution;
};

TEST(TopoTest, OrdersAsExpected) {
  const OrderRow rows[] = {
      {"chain", {"x"}, {}, {{"a", {"x"}}, {"b", {"a"}}}, "a b", "a b"},
      {"reversed chain", {"x"}, {}, {{"b", {"a"}}, {"a", {"x"}}}, "a b", "a b"},
      {"no inputs first", {"x"}, {}, {{"a", {"x"}}, {"c", {}}, {"d", {""}}}, "c d a", "a c d"},
      {"names decide", {"x"}, {"b", "a"}, {{"qx", {"x"}}, {"qb", {"b"}}, {"qa", {"a"}}}, "qa qb qx", "qx qb qa"},
      {"byte order", {"x"}, {"B", "a"}, {{"p", {"a"}}, {"q", {"B"}}}, "q p", "p q"},
      {"breadth first",
       {"x"},
       {},
       {{"a", {"x"}}, {"a2", {"a"}}, {"b", {"x"}}, {"b2", {"b"}}},
       "a b a2 b2",
       "a a2 b b2"},
      {"list order for readers", {"x"}, {}, {{"c", {"x"}}, {"a", {"x"}}, {"b", {"x"}}}, "c a b", "c a b"},
      {"same input twice", {"x"}, {}, {{"s", {"a", "a"}}, {"a", {"x"}}}, "a s", "a s"},
      {"last input releases", {"x", "y"}, {}, {{"s", {"y", "x"}}, {"t", {"x"}}}, "t s", "s t"},
      {"QDQ after the originals",
       {"x"},
       {"w", "s"},
       {{"conv", {"xd", "wd"}}, {"xq", {"x", "s"}}, {"xd", {"xq", "s"}}, {"wd", {"w", "s"}}},
       "wd xq xd conv",
       "xq xd wd conv"},
  };
  for (const OrderRow& row : rows) {
    SCOPED_TRACE(row.name);
    Graph graph = graph_of(row.inputs, row.weights, row.nodes);
    EXPECT_EQ(names(graph, execution_order(graph).value()), row.execution);
    const Result<bool> sorted = sort_topologically(graph);
    ASSERT_TRUE(sorted.ok());
    EXPECT_TRUE(sorted.value());
    EXPECT_EQ(names(graph, graph.order()), row.reference);
    EXPECT_EQ(verify(graph).message(), "");
    ASSERT_TRUE(sort_topologically(graph).ok());
  }
}

TEST(TopoTest, CountsAnInitializerAmongTheInputsOnce) {
  Graph graph = graph_of({"w"}, {}, {{"a", {"w", "w"}}});
  GraphEdit(graph).set_constant(graph.find("w"), Tensor::scalar(1.0f));
  EXPECT_TRUE(sort_topologically(graph).value());
  EXPECT_EQ(names(graph, graph.order()), "a");
}

TEST(TopoTest, NamesANodeOnTheCycle) {
  Graph graph = graph_of({"x"}, {}, {{"before", {"x"}}, {"b", {"a", "before"}}, {"a", {"b"}}, {"after", {"a"}}});
  const std::string before = dump(graph);
  const Status status = execution_order(graph).status();
  EXPECT_EQ(status.code(), Code::kCorruptModel);
  EXPECT_TRUE(status.message().starts_with("node a (Op)") || status.message().starts_with("node b (Op)"))
      << status.message();
  EXPECT_FALSE(sort_topologically(graph).ok());
  EXPECT_EQ(dump(graph), before);
}

TEST(TopoTest, FallsBackWhereCapturesNeedIt) {
  // "user" has no inputs, so ref:writing#node-order puts it first, but it captures what "made" computes.
  Graph graph = graph_of({"x"}, {}, {{"made", {"x"}}, {"user", {}}});
  GraphEdit(graph).set_captures(graph.order()[1], {{graph.find("made"), "made"}});
  EXPECT_FALSE(sort_topologically(graph).value());
  EXPECT_EQ(names(graph, graph.order()), "made user");
}

TEST(TopoTest, WalksLongChainsInBothDirections) {
  constexpr int kNodes = 200000;
  Graph graph;
  GraphEdit edit(graph);
  std::vector<ValueId> values;
  for (int i = 0; i <= kNodes; ++i) values.push_back(edit.add_value(cat("v", i)));
  edit.add_graph_input(values[0]);
  for (int i = kNodes; i > 0; --i) {
    const auto at = static_cast<size_t>(i);
    edit.add_node({.op = "Neg", .domain = "", .name = "", .inputs = {values[at - 1]}, .outputs = {values[at]}});
  }
  const std::vector<NodeId> order = execution_order(graph).value();
  EXPECT_EQ(order.front().index, kNodes - 1);
  EXPECT_TRUE(sort_topologically(graph).value());
  EXPECT_EQ(graph.order(), order);
}

}  // namespace
}  // namespace quarkq::ir
