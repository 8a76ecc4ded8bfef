// SPDX-License-Identifier: MIT
// Which Pads are read as growth of an image, and what becomes of a window that takes them over.
#include "rewrite/pads.h"

#include <limits>

#include "support/pass_support.h"

namespace quarkq::rewrite {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct ReadPad {
  test::PassBench bench;
  std::optional<SpatialPad> found;

  /// `nodes` has a Pad.
  ReadPad(const std::string& constants, const std::string& nodes, int opset = 17)
      : bench(cat("g (float[1, 2, 3, 4] x) => (float[N, C, H, W] y) <", constants, "> { ", nodes, " }"), opset) {
    const ir::Graph& graph = bench.graph();
    found = read_spatial_pad(bench.node("Pad"), [&](ir::ValueId id) { return graph.constant(id); });
  }
};

const char* const kAmounts = "int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}";
const std::vector<int64_t> kRead = {0, 0, 1, 2, 0, 0, 3, 4};

TEST(PadsTest, ReadsInputsAndAttributes) {
  struct Row {
    const char *constants, *nodes;
    int opset;
    double value;
  };
  const Row rows[] = {
      {"int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}", "y = Pad (x, p)", 17, 0},
      {"int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}", "y = Pad <mode = \"constant\"> (x, p)", 13, 0},
      {"int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}, float v = {2.5}", "y = Pad (x, p, v)", 17, 2.5},
      {"int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}, float[1] v = {-1}", "y = Pad (x, p, v)", 11, -1},
      {"float u = {1}", "y = Pad <pads = [0, 0, 1, 2, 0, 0, 3, 4], value = 1.5> (x)", 10, 1.5},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.nodes);
    const ReadPad pad(row.constants, row.nodes, row.opset);
    ASSERT_TRUE(pad.found.has_value());
    EXPECT_EQ(pad.found->amounts, kRead);
    EXPECT_EQ(pad.found->value, row.value);
  }
}

TEST(PadsTest, WhatIsNoConstantGrowthOfAnImageIsNotRead) {
  struct Row {
    const char *constants, *nodes;
  };
  const Row rows[] = {
      {kAmounts, "y = Pad <mode = \"reflect\"> (x, p)"},
      {kAmounts, "y = Pad <mode = \"edge\"> (x, p)"},
      {"int64[8] p = {0, 0, -1, 2, 0, 0, 3, 4}", "y = Pad (x, p)"},
      {"int64[8] p = {0, 1, 1, 2, 0, 0, 3, 4}", "y = Pad (x, p)"},
      {"int64[8] p = {0, 0, 1, 2, 1, 0, 3, 4}", "y = Pad (x, p)"},
      {"int64[4] p = {1, 2, 3, 4}", "z = Squeeze (x) y = Pad (z, p)"},
      {kAmounts, "q = Neg (p) y = Pad (x, q)"},
      {"int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}, float v = {1}", "w = Neg (v) y = Pad (x, p, w)"},
  };
  for (const Row& row : rows) EXPECT_FALSE(ReadPad(row.constants, row.nodes).found.has_value()) << row.nodes;
  EXPECT_FALSE(ReadPad("int64[4] p = {0, 0, 1, 2}, int64[2] a = {2, 3}", "y = Pad (x, p, , a)", 18).found.has_value());
}

TEST(PadsTest, GrownPadsAddByPlace) {
  const SpatialPad pad{kRead, 0};
  EXPECT_EQ(grown_pads({0, 0, 0, 0}, pad), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(grown_pads({10, 20, 30, 40}, pad), (std::vector<int64_t>{11, 22, 33, 44}));
  EXPECT_FALSE(grown_pads({0, 0}, pad).has_value());
  EXPECT_FALSE(grown_pads({0, 0, 0, 0, 0, 0}, pad).has_value());
  EXPECT_FALSE(grown_pads({0, 0, 0, kMax}, pad).has_value());
  const SpatialPad line{{0, 0, 5, 0, 0, 6}, 0};
  EXPECT_EQ(grown_pads({1, 1}, line), (std::vector<int64_t>{6, 7}));
}

/// Applies merge_pads() to the Conv after the Pad; empty: it refuses.
std::string merged(const std::string& conv) {
  test::PassBench bench(cat("g (float[1, 2, 8, 8] x) => (float[N, C, H, W] y) <", kAmounts, ", float[2, 2, 3, 3] w = ",
                            test::numbers(36, 1), "> { a = Pad (x, p) y = ", conv, " (a, w) }"));
  const ir::Model before = bench.model;
  const auto patch = merge_pads(bench.node("Conv"), bench.node("Pad"), {kRead, 0}, "both");
  if (!patch) return "";
  patch->apply(bench.model.graph);
  EXPECT_EQ(ir::verify(bench.graph()).message(), "");
  test::expect_same_outputs(before, bench.model);
  EXPECT_EQ(bench.ops(), "Conv");
  EXPECT_EQ(bench.node("Conv").name, "both");
  return testing::PrintToString(bench.node("Conv").ints_or("pads", {}));
}

TEST(PadsTest, MergedConvComputesTheSame) {
  EXPECT_EQ(merged("Conv"), "{ 1, 2, 3, 4 }");
  EXPECT_EQ(merged("Conv <pads = [1, 0, 2, 0]>"), "{ 2, 2, 5, 4 }");
  EXPECT_EQ(merged("Conv <auto_pad = \"VALID\">"), "{ 1, 2, 3, 4 }");
  EXPECT_EQ(merged("Conv <strides = [2, 2], dilations = [2, 1]>"), "{ 1, 2, 3, 4 }");
  EXPECT_EQ(merged("Conv <auto_pad = \"SAME_UPPER\">"), "");
  EXPECT_EQ(merged("Conv <auto_pad = \"SAME_LOWER\">"), "");
}

}  // namespace
}  // namespace quarkq::rewrite
