// SPDX-License-Identifier: MIT
// Blocks by structure: where they begin and end, what ends them, their order.
#include "planning/tune/unit.h"

#include "planning/tune/tape_op.h"
#include "support/pass_support.h"

namespace quarkq::planning::finetune {
namespace {

/// A model whose graph is simulated and float at once, all of its layers, and the blocks of them.
struct Found {
  explicit Found(const std::string& body, const std::string& outputs = "float[] y") {
    std::string parameters;
    for (const char* name : {"a", "b", "c", "d", "e", "f"})
      parameters += cat(parameters.empty() ? "" : ", ", "float[4,4,1,1] w", name, " = ", test::numbers(16, 1));
    model = test::model_of(cat("g (float[1,4,5,5] x) => (", outputs, ") <", parameters,
                               ", float scale = {0.01}, uint8 zero = {0}> { ", body, " }"));
    const ir::Graph& graph = model.graph;
    layers.reserve(graph.order().size());
    for (const ir::NodeId id : graph.order()) {
      const ir::Node& node = graph.node(id);
      if (!is_layer_op(node)) continue;
      Layer layer;
      layer.node = id;
      layer.label = node.output(0).valid() ? graph.value(node.output(0)).name : "";
      layer.start = node.input(0);
      layer.end = node.output(0);
      layer.exact = {layer.start, layer.end, {}, {}};
      layers.push_back(layer);
    }
    units = find_blocks(layers, graph, graph);
  }
  /// "start-end: layers; ..."
  std::string text() const {
    std::string all;
    for (const Unit& unit : units) {
      all +=
          cat(all.empty() ? "" : "; ", model.graph.value(unit.start).name, "-", model.graph.value(unit.end).name, ":");
      for (const Layer* layer : unit.layers) all += cat(" ", layer->label);
    }
    return all;
  }

  ir::Model model;
  std::vector<Layer> layers;
  std::vector<Unit> units;
};

TEST(FindBlocksTest, ResidualBlocksEndAfterTheirSum) {
  const Found found(
      "a = Conv (x, wa) ra = Relu (a) b = Conv (ra, wb) rb = Relu (b) c = Conv (rb, wc) s = Add (c, ra) rs = Relu (s) "
      "y = Conv (rs, wd)");
  EXPECT_EQ(found.text(), "x-ra: a; ra-rs: b c; rs-y: y");
}

TEST(FindBlocksTest, InvertedResidualBlocksAreWhole) {
  const Found found(
      "a = Conv (x, wa) b = Conv (a, wb) rb = Clip (b) c = Conv (rb, wc) rc = Clip (c) d = Conv (rc, wd) s = Add (a, "
      "d) "
      "e = Conv (s, we) f = Conv (e, wf) y = Add (f, s)");
  EXPECT_EQ(found.text(), "x-a: a; a-s: b c d; s-y: e f");
}

TEST(FindBlocksTest, ProjectionShortcutsBelongToTheBlock) {
  const Found found("a = Conv (x, wa) ra = Relu (a) b = Conv (ra, wb) c = Conv (x, wc) s = Add (b, c) y = Relu (s)");
  EXPECT_EQ(found.text(), "x-y: a b c");
}

TEST(FindBlocksTest, GatesAreInTheResidualBlockAroundThem) {
  const Found found(
      "a = Conv (x, wa) b = Conv (a, wb) p = GlobalAveragePool (b) c = Conv (p, wc) g = HardSigmoid (c) m = Mul (b, g) "
      "d = Conv (m, wd) y = Add (d, a)");
  EXPECT_EQ(found.text(), "x-a: a; a-y: b c d");
}

TEST(FindBlocksTest, ChainsHaveABound) {
  const Found found(
      "a = Conv (x, wa) b = Conv (a, wb) c = Conv (b, wc) d = Conv (c, wd) e = Conv (d, we) y = Conv (e, wf)");
  EXPECT_EQ(found.text(), "x-d: a b c d; d-y: e y");
}

TEST(FindBlocksTest, SeveralExitsAreRefused) {
  EXPECT_EQ(Found("a = Conv (x, wa) b = Conv (a, wb) y = Conv (b, wc)", "float[] y, float[] a").text(),
            "x-a: a; a-y: b y");
  // Two branches that come together in an operator without a backward function.
  EXPECT_EQ(
      Found("a = Conv (x, wa) b = Conv (a, wb) c = Conv (x, wc) d = Conv (c, wd) y = Concat<axis=1> (b, d)").text(),
      "x-b: a b; x-d: c d");
  // The value in the middle is read far away: the block may not hide it.
  EXPECT_EQ(
      Found("a = Conv (x, wa) b = Conv (a, wb) c = Conv (b, wc) m = MaxPool<kernel_shape=[1,1]> (c) y = Add (m, a)")
          .text(),
      "x-a: a; a-c: b c");
}

TEST(FindBlocksTest, OtherOperatorsEndABlock) {
  EXPECT_EQ(Found("a = Conv (x, wa) m = MaxPool<kernel_shape=[2,2]> (a) b = Conv (m, wb) y = Conv (b, wc)").text(),
            "x-a: a; m-y: b y");
  EXPECT_EQ(Found("a = Conv (x, wa) m = MaxPool<kernel_shape=[1,1]> (a) b = Conv (m, wb) y = Add (b, x)").text(),
            "x-a: a; m-b: b");
}

TEST(FindBlocksTest, LargeResidualBlocksBecomeChains) {
  std::string body = "v0 = Conv (x, wa) ";
  for (int i = 1; i <= 9; ++i) body += cat("v", i, " = Conv (v", i - 1, ", wb) ");
  EXPECT_EQ(Found(body + "y = Add (v9, v0)").text(), "x-v0: v0; v0-v4: v1 v2 v3 v4; v4-v8: v5 v6 v7 v8; v8-v9: v9");
}

TEST(FindBlocksTest, QuantizersAfterTheEndBelongToTheBlock) {
  const std::string pair =
      R"(quarkq.FakeQuantize<quantize_op="QuantizeLinear", quantize_domain="", dequantize_op="DequantizeLinear", dequantize_domain="">)";
  const Found found(cat("a = Conv (x, wa) qa = ", pair, " (a, scale, zero) b = Conv (qa, wb) qb = ", pair,
                        " (b, scale, zero) s = Add (qb, qa) qs = ", pair,
                        " (s, scale, zero) c = Conv (qs, wc) d = Conv (qs, wd) e = Add (c, d) y = Relu (e)"));
  EXPECT_EQ(found.text(), "x-qa: a; qa-qs: b; qs-y: c d");
  EXPECT_EQ(found.model.graph.value(found.units[1].target).name, "s");
}

TEST(FindBlocksTest, TheFloatModelMustHaveTheEnd) {
  const Found found("a = Conv (x, wa) b = Conv (a, wb) s = Add (b, a) y = Conv (s, wc)");
  EXPECT_EQ(found.text(), "x-a: a; a-s: b; s-y: y");
  ir::Model other = test::model_of(
      cat("g (float[1,4,5,5] x) => (float[] y) <float[4,4,1,1] wa = ", test::numbers(16, 1), "> { y = Conv (x, wa) }"));
  const std::vector<Unit> units = find_blocks(found.layers, found.model.graph, other.graph);
  EXPECT_EQ(units.size(), 3u);
  for (const Unit& unit : units) EXPECT_EQ(unit.layers.size(), 1u);
}

}  // namespace
}  // namespace quarkq::planning::finetune
