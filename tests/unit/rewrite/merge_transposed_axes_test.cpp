// SPDX-License-Identifier: MIT
// Chains of Reshape, Transpose, Reshape: random ones of rank 5 to 7 keep their outputs to the bit and lose every tensor
// of more than 4 dimensions.
#include <numeric>

#include "rewrite/hardware/axis_moves.h"
#include "support/pass_support.h"
#include "support/random_draws.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

constexpr size_t kMostRank = 4;

/// The largest rank of a value that a node makes.
size_t highest_rank(const ir::Graph& graph) {
  size_t highest = 0;
  for (const ir::NodeId id : graph.order())
    highest = std::max(highest, graph.value(graph.node(id).output(0)).type.dims.size());
  return highest;
}

basic::Permutation drawn_order(test::Draws& draws, size_t rank) {
  basic::Permutation order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = rank; i-- > 1;)
    std::swap(order[i], order[static_cast<size_t>(draws.integer(0, static_cast<int64_t>(i)))]);
  return order;
}

/// The same elements in at most four dimensions: cut at random places.
ir::Shape drawn_view(test::Draws& draws, const ir::Shape& dims) {
  ir::Shape view = {1};
  for (const int64_t size : dims) {
    if (view.size() < kMostRank && draws.coin()) view.push_back(1);
    view.back() *= size;
  }
  return view;
}

std::string shape_list(const char* name, const ir::Shape& dims) {
  return cat("int64[", dims.size(), "] ", name, " = {", join(dims, ", "), "}");
}

PassBench& with_types(PassBench& bench) {
  Diagnostics ignored;
  EXPECT_TRUE(onnx_io::infer_types(bench.model, ignored).ok());
  return bench;
}

config::Settings with_most_rank(int64_t rank) { return test::settings_for("A8W8", {cat("legalize.most_rank=", rank)}); }

TEST(MergeTransposedAxesTest, EveryChainWithLowEnds) {
  test::Draws draws(7);
  for (int round = 0; round < 150; ++round) {
    const ir::Shape inner = draws.shape(5, 7, 1, 3);
    const basic::Permutation first = drawn_order(draws, inner.size()), second = drawn_order(draws, inner.size());
    const bool twice = draws.integer(0, 3) == 0;
    const ir::Shape once = basic::permuted(inner, first), last = twice ? basic::permuted(once, second) : once;
    const std::string turn = twice ? cat("u = Transpose <perm = [", join(second, ", "), "]> (t) ") : "";
    const std::string body =
        cat("g (float[", join(drawn_view(draws, inner), ", "), "] x) => (float[] y) <", shape_list("a", inner), ", ",
            shape_list("b", drawn_view(draws, last)), "> { r = Reshape (x, a) t = Transpose <perm = [",
            join(first, ", "), "]> (r) ", turn, "y = Reshape (", twice ? "u" : "t", ", b) }");
    SCOPED_TRACE(body);
    PassBench bench(test::model_of(body), with_most_rank(kMostRank));
    test::expect_fires(bench, merge_transposed_axes, 0);
    EXPECT_LE(highest_rank(with_types(bench).graph()), kMostRank);
  }
}

TEST(MergeTransposedAxesTest, PlansAreShortAndRight) {
  test::Draws draws(3);
  for (const size_t most_rank : {3, 4, 5}) {
    for (int round = 0; round < 60; ++round) {
      const ir::Shape dims = draws.shape(5, 8, 2, 3);
      const Reordering whole{dims, drawn_order(draws, dims.size())};
      const ir::Shape flat = {ir::checked_count(dims)};
      const auto moves = plan_moves({flat, {whole}, flat}, most_rank);
      ASSERT_TRUE(moves.has_value());
      size_t transposes = 0;
      for (const AxisMove& move : *moves) {
        EXPECT_LE(move.dims.size(), most_rank);
        transposes += move.permutation.empty() ? 0 : 1;
      }
      const ir::Tensor x = draws.tensor(dims);
      EXPECT_TRUE(moved(x.reshaped(flat), *moves)->same_as(basic::permuted(x, whole.permutation)->reshaped(flat)));
      const size_t merged = merged_axes(whole).dims.size();  // each Transpose joins at most most_rank - 1 pairs
      EXPECT_GE(transposes * (most_rank - 1) + 1, merged);
      EXPECT_LE(transposes, most_rank >= 4 ? 4U : 6U);
    }
  }
}

TEST(MergeTransposedAxesTest, MergesNeighboursAndDropsOnes) {
  const Reordering shuffle = merged_axes({{1, 2, 8, 7, 7}, {0, 2, 1, 3, 4}});
  EXPECT_EQ(shuffle.dims, (ir::Shape{2, 8, 49}));
  EXPECT_EQ(shuffle.permutation, (basic::Permutation{1, 0, 2}));
  const Reordering ones = merged_axes({{2, 1, 3, 1}, {3, 0, 2, 1}});
  EXPECT_EQ(ones.dims, (ir::Shape{6}));
  EXPECT_TRUE(basic::is_identity(ones.permutation));
  EXPECT_TRUE(merged_axes({{1, 1}, {1, 0}}).dims.empty());
}

TEST(MergeTransposedAxesTest, OneReshapeWhereNothingMoves) {
  PassBench bench(test::model_of("g (float[2, 3, 4] x) => (float[A, B] y) <int64[5] a = {2, 1, 3, 1, 4}, int64[2] b = "
                                 "{6, 4}> { r = Reshape (x, a) t = Transpose <perm = [3, 0, 2, 1, 4]> (r) y = Reshape "
                                 "(t, b) }"),
                  with_most_rank(4));
  test::expect_fires(bench, merge_transposed_axes, 0);
  EXPECT_EQ(bench.ops(), "Reshape");
}

TEST(MergeTransposedAxesTest, OneTransposeWhereAxesMerge) {
  PassBench bench(test::model_of("g (float[1, 4, 3, 5] x) => (float[A, B, C, D] y) <int64[5] a = {1, 2, 2, 3, 5}, "
                                 "int64[4] b = {1, 4, 3, 5}> { r = Reshape (x, a) t = Transpose <perm = [0, 2, 1, 3, "
                                 "4]> (r) y = Reshape (t, b) }"),
                  with_most_rank(4));
  test::expect_fires(bench, merge_transposed_axes, 0);
  EXPECT_EQ(bench.ops(), "Reshape Transpose Reshape");
  EXPECT_EQ(bench.node("Transpose").ints_or("perm", {}), (std::vector<int64_t>{1, 0, 2}));
}

TEST(MergeTransposedAxesTest, OtherViewsAndSymbolsAreNamedAlike) {
  PassBench bench(test::model_of("g (float[4, 3, 5] x) => (float[A, B] y) <int64[2] a = {0, 2}, int64[4] b = {2, 2, 3, "
                                 "5}> { p = Reshape (x, b) r = Unsqueeze (p, a) t = Transpose <perm = [0, 3, 2, 1, 5, "
                                 "4]> (r) y = Flatten <axis = 2> (t) }"),
                  with_most_rank(4));
  test::expect_fires(bench, merge_transposed_axes, 0);
  EXPECT_LE(highest_rank(with_types(bench).graph()), 4U);
}

/// The new nodes stand for the old ones, so that settings about these still apply.
TEST(MergeTransposedAxesTest, KeepsOrigins) {
  const std::string body =
      "g (float[1, 4, 3, 5] x) => (float[A, B, C, D] y) <int64[5] a = {1, 2, 2, 3, 5}, int64[4] b = {1, 4, 3, 5}> "
      "{ [one] r = Reshape (x, a) [two] t = Transpose <perm = [0, 2, 1, 3, 4]> (r) [three] y = Reshape (t, b) }";
  config::Settings settings =
      test::settings_for("A8W8", {"legalize.most_rank=4", "nodes_to_exclude=[two]", "QuantizeAllOpTypes=true"});
  PassBench bench(test::model_of(body), settings);
  bench.run(select_nodes);
  ASSERT_TRUE(bench.run(merge_transposed_axes));
  EXPECT_FALSE(bench.context.selection.selects(bench.node("Transpose")));
  EXPECT_EQ(bench.graph().node(bench.graph().order().back()).name, "three");
}

}  // namespace
}  // namespace quarkq::pass_tests
