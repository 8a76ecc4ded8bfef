// SPDX-License-Identifier: MIT
// Islands of nodes: what connects them, what limits refuse.
#include "ir/parts.h"

#include "ir/graph_analysis.h"
#include "support/grown_model.h"
#include "support/pass_support.h"

namespace quarkq::ir {
namespace {

/// Two branches between Neg and Add; Conv on one of them has all multiply-accumulates but those of the last MatMul.
const char* const kBranches =
    "g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = {1, 2, 3, 4}> {"
    " a = Neg (x) b = Conv (a, w) c = Relu (b) d = Abs (a) e = Sqrt (d) f = Add (c, e) h = Exp (f) y = MatMul (h, h) }";

struct Bench {
  explicit Bench(const char* text) : bench(text, 17) {}
  std::set<NodeId> nodes(const std::vector<const char*>& ops) {
    std::set<NodeId> found;
    for (const char* op : ops) found.insert(bench.node(op).id);
    return found;
  }
  test::PassBench bench;
};

TEST(IslandsTest, NodesThatConnectIslandsAreTakenIn) {
  struct Row {
    size_t most;
    std::vector<std::vector<const char*>> added;
    std::vector<const char*> expected;
    size_t islands;
  };
  const Row rows[] = {
      {0, {{"Neg"}, {"Exp"}}, {"Neg", "Exp"}, 2},
      {0, {{"Neg"}, {"Conv"}, {"Add"}}, {"Neg", "Conv", "Add"}, 2},
      {2, {{"Neg"}, {"Exp"}}, {"Neg", "Exp"}, 2},
      {1, {{"Abs"}, {"Add"}}, {"Abs", "Sqrt", "Add"}, 1},
      // Both branches lie between.
      {1, {{"Neg"}, {"Add"}}, {"Neg", "Conv", "Relu", "Abs", "Sqrt", "Add"}, 1},
      {9, {{"Neg", "Abs", "Sqrt", "Add"}}, {"Neg", "Conv", "Relu", "Abs", "Sqrt", "Add"}, 1},
      // Parallel branches: where they meet costs nothing, where they part costs the Conv.
      {1, {{"Relu"}, {"Sqrt"}}, {"Relu", "Sqrt", "Add"}, 1},
      // The nearest two of three.
      {2, {{"Conv"}, {"Sqrt"}, {"MatMul"}}, {"Conv", "Relu", "Sqrt", "Add", "MatMul"}, 2},
  };
  for (const Row& row : rows) {
    Bench bench(kBranches);
    Islands islands(bench.bench.graph(), {.most = row.most});
    for (const auto& ops : row.added) EXPECT_TRUE(islands.add(bench.nodes(ops)));
    EXPECT_EQ(islands.nodes(), bench.nodes(row.expected)) << row.most << " " << row.added.back().front();
    EXPECT_EQ(islands.count(), row.islands);
  }
}

TEST(IslandsTest, NothingChangesWhereALimitIsPassed) {
  Bench bench(kBranches);
  const Graph& graph = bench.bench.graph();
  const double conv = mac_share(graph, bench.nodes({"Conv"}));
  ASSERT_GT(conv, 0);
  Islands islands(graph, {.most = 1, .mac_share = conv / 2, .barred = bench.nodes({"Sqrt"})});
  EXPECT_FALSE(islands.add(bench.nodes({"Conv"})));
  EXPECT_TRUE(islands.add(bench.nodes({"Neg"})));
  EXPECT_FALSE(islands.add(bench.nodes({"Relu"}))) << "the Conv lies between";
  EXPECT_TRUE(islands.add(bench.nodes({"Abs"})));
  EXPECT_FALSE(islands.add(bench.nodes({"Add"}))) << "a barred node lies between";
  EXPECT_FALSE(islands.add(bench.nodes({"Sqrt"})));
  EXPECT_EQ(islands.nodes(), bench.nodes({"Neg", "Abs"}));
  EXPECT_EQ(islands.mac_share(), 0);
}

TEST(IslandsTest, UnconnectedPartsCannotBecomeOneIsland) {
  Bench bench("g (float[4] x, float[4] z) => (float[4] y, float[4] v) { y = Neg (x) v = Abs (z) }");
  Islands islands(bench.bench.graph(), {.most = 1});
  EXPECT_TRUE(islands.add(bench.nodes({"Neg"})));
  EXPECT_FALSE(islands.add(bench.nodes({"Abs"})));
  EXPECT_EQ(islands.count(), 1u);
}

/// Does a path lead from one node to another through nodes outside of `held`?
bool leaves_and_returns(const Graph& graph, const std::set<NodeId>& held) {
  std::set<NodeId> outside;  // reached from a held node
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) {
      const NodeId source = input.valid() ? graph.value(input).producer : NodeId{};
      if (!source.valid()) continue;
      const bool is_after = held.contains(source) || outside.contains(source);
      if (held.contains(id) && outside.contains(source)) return true;
      if (!held.contains(id) && is_after) outside.insert(id);
    }
  }
  return false;
}

TEST(IslandsTest, OneIslandOfARandomModelHasNoHoles) {
  size_t checked = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    test::RandomGraph grown(seed);
    Model model;
    test::grow_model(grown, 16, model);
    const Graph& graph = model.graph;
    Islands islands(graph, {.most = 1});
    test::Draws draws(seed);
    for (int i = 0; i < 4; ++i) {
      const auto place = static_cast<size_t>(draws.integer(0, static_cast<int64_t>(graph.order().size()) - 1));
      const std::set<NodeId> before = islands.nodes();
      const std::set<NodeId> asked = {graph.order()[place]};
      if (!islands.add(asked)) {
        EXPECT_EQ(islands.nodes(), before);
        continue;
      }
      EXPECT_TRUE(islands.nodes().contains(*asked.begin()));
      EXPECT_TRUE(std::includes(islands.nodes().begin(), islands.nodes().end(), before.begin(), before.end()));
      EXPECT_EQ(islands.count(), 1u) << seed;
      EXPECT_FALSE(leaves_and_returns(graph, islands.nodes())) << seed;
      checked += islands.nodes().size() > before.size() + 1 ? 1 : 0;
    }
  }
  EXPECT_GT(checked, 20u);
}

}  // namespace
}  // namespace quarkq::ir
