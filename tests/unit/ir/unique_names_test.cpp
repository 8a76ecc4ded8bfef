// SPDX-License-Identifier: MIT
#include "ir/edit.h"

#include <gtest/gtest.h>

#include "ir/check_graph.h"

namespace quarkq::ir {
namespace {

/// A chain of Relus with these names over x; values are called "<prefix>0", "<prefix>1", ...
struct Chain {
  Graph graph;
  std::vector<NodeId> nodes;

  Chain(const std::string& prefix, const std::vector<std::string>& names) {
    GraphEdit edit(graph);
    ValueId last = edit.add_value(prefix + "in");
    edit.add_graph_input(last);
    for (size_t i = 0; i < names.size(); ++i) {
      const ValueId next = edit.add_value(cat(prefix, i));
      nodes.push_back(
          edit.add_node({.op = "Relu", .domain = "", .name = names[i], .inputs = {last}, .outputs = {next}}));
      last = next;
    }
    edit.add_graph_output(last);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const NodeId id : nodes) all.push_back(graph.node(id).name);
    return all;
  }
};

using Names = std::vector<std::string>;

TEST(UniqueNamesTest, TakesTheFirstFreeSuffix) {
  UniqueNames names;
  names.add("a_1");
  EXPECT_EQ(names.take("a"), "a");
  EXPECT_EQ(names.take("a"), "a_2");
  EXPECT_EQ(names.take("a_1"), "a_1_1");
  EXPECT_FALSE(names.add("a_2"));
}

TEST(UniqueNamesTest, LeavesDifferentAndEmptyNames) {
  Chain chain("t", {"a", "", "b", ""});
  EXPECT_EQ(make_names_unique(chain.graph), 0u);
  EXPECT_EQ(chain.names(), (Names{"a", "", "b", ""}));
}

TEST(UniqueNamesTest, LaterNodesGiveWay) {
  Chain chain("t", {"a", "a", "a_1", "a"});
  EXPECT_EQ(make_names_unique(chain.graph), 2u);
  EXPECT_EQ(chain.names(), (Names{"a", "a_2", "a_1", "a_3"}));
  EXPECT_EQ(make_names_unique(chain.graph), 0u);
}

TEST(UniqueNamesTest, TheOlderNodeKeepsItsNameWhereverItStands) {
  Chain chain("t", {"first", "made"});
  GraphEdit edit(chain.graph);
  const ValueId value = edit.add_value("new");
  const NodeId made = edit.add_node(
      {.op = "Neg", .domain = "", .name = "first", .inputs = {chain.graph.find("tin")}, .outputs = {value}},
      chain.nodes[0]);
  edit.set_input(chain.nodes[0], 0, value);
  EXPECT_EQ(make_names_unique(chain.graph), 1u);
  EXPECT_EQ(chain.graph.node(made).name, "first_1");
  EXPECT_EQ(verify(chain.graph).message(), "");
}

class NestedNamesTest : public ::testing::Test {
 protected:
  /// The outer chain's first node holds `inner` as a body.
  void hold(Chain& outer, Chain inner) {
    GraphEdit(outer.graph).node(outer.nodes[0]).set("body", std::make_shared<const Graph>(std::move(inner.graph)));
  }
  const Graph& body(const Chain& outer) { return **outer.graph.node(outer.nodes[0]).get<GraphPtr>("body"); }
};

TEST_F(NestedNamesTest, AValueGivesWayToOneInside) {
  Chain outer("t", {"a", "b", "c"});
  hold(outer, Chain("t", {"x", "y", "z"}));  // both have tin, t0, t1, t2: only t0 and t1 of the outer one are inner
  EXPECT_EQ(make_names_unique(outer.graph), 2u);
  EXPECT_TRUE(outer.graph.find("tin").valid());
  EXPECT_TRUE(outer.graph.find("t2").valid());
  EXPECT_FALSE(outer.graph.find("t0").valid());
  EXPECT_TRUE(outer.graph.find("t0_1").valid());
  EXPECT_TRUE(outer.graph.find("t1_1").valid());
  EXPECT_TRUE(body(outer).find("t0").valid());
  EXPECT_EQ(verify(outer.graph).message(), "");
}

TEST_F(NestedNamesTest, NodesInsideAreRenamedToo) {
  Chain outer("t", {"a"});
  hold(outer, Chain("u", {"a", "b", "b"}));  // "a" outside is another graph's name
  const GraphPtr before = *outer.graph.node(outer.nodes[0]).get<GraphPtr>("body");
  EXPECT_EQ(make_names_unique(outer.graph), 1u);
  EXPECT_EQ(outer.graph.node(outer.nodes[0]).name, "a");
  EXPECT_EQ(body(outer).node(body(outer).order()[2]).name, "b_1");
  EXPECT_EQ(before->node(before->order()[2]).name, "b") << "nested graphs are shared and never edited in place";
}

}  // namespace
}  // namespace quarkq::ir
