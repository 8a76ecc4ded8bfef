// SPDX-License-Identifier: MIT
// Mul, Div, Add and Sub by constants next to layers: which become part of a layer, and that the function stays.
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

struct FoldCase {
  const char* name;
  const char* nodes;
  const char* left;  ///< Operators after the pass.
};

const FoldCase kCases[] = {
    {"a scalar after a Conv", "c = Conv (x, w, b) y = Mul (half, c)", "Conv"},
    {"a chain after a Conv", "c = Conv (x, w, b) m = Mul (half, c) a = Add (m, three) s = Sub (a, half) y = Div (s, three)",
     "Conv"},
    {"a Conv without bias", "c = Conv (x, w) y = Add (c, three)", "Conv"},
    {"channels", "c = Conv (x, w, b) m = Mul (c, channels) y = Add (channels, m)", "Conv"},
    {"places", "c = Conv (x, w, b) y = Mul (c, places)", "Conv Mul"},
    {"a constant less something", "c = Conv (x, w, b) y = Sub (three, c)", "Conv Sub"},
    {"a factor of zero", "c = Conv (x, w, b) y = Mul (c, zero)", "Conv Mul"},
    {"two readers", "c = Conv (x, w, b) r = Relu (c) m = Mul (c, half) y = Add (r, m)", "Conv Relu Mul Add"},
    {"after a ConvTranspose", "c = ConvTranspose (x, w, b) y = Mul (c, channels)", "ConvTranspose"},
    {"before a Conv", "r = Relu (x) m = Div (r, three) a = Add (m, half) y = Conv (a, w, b)", "Relu Conv"},
    {"before a Conv without bias", "r = Relu (x) a = Add (r, half) y = Conv (a, w)", "Relu Conv"},
    {"before a Conv with pads", "r = Relu (x) m = Mul (r, three) a = Add (m, half) y = Conv <pads = [1, 1, 1, 1]> (a, w, b)",
     "Relu Add Conv"},
    {"an offset before pads", "r = Relu (x) a = Add (r, half) y = Conv <pads = [1, 1, 1, 1]> (a, w, b)", "Relu Add Conv"},
    {"a factor before a depthwise Conv", "r = Relu (x) m = Mul (r, half) y = Conv <group = 4> (m, d, b)", "Relu Conv"},
    {"channels before a Conv", "r = Relu (x) m = Mul (r, channels) y = Conv (m, w, b)", "Relu Mul Conv"},
    {"from layer to layer", "c = Conv (x, w, b) m = Mul (c, half) y = Conv (m, w, b)", "Conv Conv"},
    {"shared weights", "c = Conv (x, w, b) e = Conv (x, w, b) m = Mul (c, half) y = Add (m, e)", "Conv Conv Add"},
};

std::string foldable_model(const std::string& nodes) {
  return cat("g (float[1, 4, 4, 4] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = ", test::numbers(16, 3),
             ", float[4, 1, 1, 1] d = ", test::numbers(4, 6), ", float[4] b = ", test::numbers(4, 5),
             ", float half = {0.5}, float[1] three = {3}, float[1] zero = {0}, float[4, 1, 1] channels = {1, 2, 0.5, -3}, "
             "float[1, 1, 4, 1] places = {1, 2, 3, 4}> { ",
             nodes, " }");
}

TEST(FoldChannelAffinesTest, FoldsWhatStaysTheSameFunction) {
  for (const FoldCase& item : kCases) {
    test::PassBench bench(test::model_of(foldable_model(item.nodes)));
    bench.run(select_nodes);
    const ir::Model before = bench.model;
    bench.run(fold_channel_affines);
    EXPECT_EQ(test::ops_of(bench.graph()), item.left) << item.name;
    test::expect_same_outputs(before, bench.model);
  }
}

TEST(FoldChannelAffinesTest, AFoldedGemmKeepsItsFunction) {
  test::PassBench bench(test::model_of(
      cat("g (float[2, 4] x) => (float[2, 3] y) <float[3, 4] w = ", test::numbers(12, 3), ", float[3] b = {1, 2, 3}, ",
          "float half = {0.5}, float[1, 3] columns = {1, 2, 3}> { m = Mul (x, half) a = Add (m, half) "
          "c = Gemm <transB = 1> (a, w, b) y = Mul (c, columns) }")));
  bench.run(select_nodes);
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(fold_channel_affines));
  EXPECT_EQ(test::ops_of(bench.graph()), "Gemm");
  test::expect_same_outputs(before, bench.model);
}

TEST(FoldChannelAffinesTest, ExcludedNodesStay) {
  for (const char* name : {"mul", "conv"}) {
    test::PassBench bench(test::model_of(foldable_model("[conv] c = Conv (x, w, b) [mul] y = Mul (c, half)")),
                          test::settings_for("A8W8", {cat("nodes_to_exclude=[", name, "]")}));
    bench.run(select_nodes);
    test::expect_idle(bench, fold_channel_affines);
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
