// SPDX-License-Identifier: MIT
// Equalization: what it leaves alone, and that it never changes the function where it fires.
#include "pipeline/run/pass_runner.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_idle;
using test::numbers;
using test::PassBench;

/// Two Convs (4 channels between them) and `middle` from value c to value m. `head` and `tail` are what the Convs say
/// and read besides.
std::string pair_with(const std::string& middle, const std::string& outputs = "float[N, M, H, W] y",
                      const std::string& tail = "Conv <group = 1> (m, w1)",
                      const std::string& head = "Conv <group = 1> (x, w0, b0)") {
  return cat(
      "g (float[1, 3, 6, 6] x) => (", outputs, ") <float[4, 3, 1, 1] w0 = ", numbers(12, 1, -3, 3),
      ", float[4] b0 = ", numbers(4, 2), ", float[2, 4, 1, 1] w1 = ", numbers(8, 3),
      ", int64[8] spatial = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] channel = {0, 1, 0, 0, 0, 0, 0, 0}, float one = {1},",
      " int64[2] hw = {2, 3}, int64[2] ch = {1, 2}, float[4, 2] gw = ", numbers(8, 4), "> { c = ", head, "\n", middle,
      "\n y = ", tail, " }");
}

void expect_equalizes(const std::string& body) {
  PassBench bench(test::model_of(body, 18));
  bench.run(select_nodes);
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(cross_layer_equalization)) << body;
  test::expect_same_outputs(before, bench.model);
  EXPECT_TRUE(bench.diagnostics.all().empty());
}

config::Settings compat_settings() {
  config::Settings settings = test::settings_for("A8W8");
  settings.compat = true;
  return settings;
}

/// Nothing changes, and a notice says `reason` unless that is empty.
void expect_left_alone(const std::string& body, const std::string& reason,
                       const config::Settings& settings = test::settings_for("A8W8")) {
  PassBench bench(test::model_of(body, 18), settings);
  bench.run(select_nodes);
  expect_idle(bench, cross_layer_equalization);
  if (reason.empty()) {
    EXPECT_TRUE(bench.diagnostics.all().empty());
    return;
  }
  ASSERT_FALSE(bench.diagnostics.all().empty()) << reason;
  EXPECT_NE(bench.diagnostics.all()[0].text.find(reason), std::string::npos) << bench.diagnostics.all()[0].text;
}

TEST(CrossLayerEqualizationTest, StepsThroughWhatPassesScale) {
  expect_equalizes(pair_with("m = Relu (c)"));
  expect_equalizes(pair_with("r = LeakyRelu (c) m = Relu (r)"));
  expect_equalizes(pair_with("m = Pad (c, spatial)"));
  expect_equalizes(pair_with("m = Pad <mode = \"reflect\"> (c, spatial, one)"));
  expect_equalizes(pair_with("m = ReduceMean (c, hw)"));
  expect_equalizes(pair_with("m = ReduceMean <keepdims = 0> (c, hw)", "float[N, M] y", "Gemm (m, gw)"));
}

TEST(CrossLayerEqualizationTest, StopsAtOtherOperators) {
  for (const char* op : {"Sigmoid (c)", "Identity (c)", "Add (c, c)", "GlobalAveragePool (c)"})
    expect_left_alone(pair_with(cat("m = ", op)), "");
}

TEST(CrossLayerEqualizationTest, LeavesUnsafePairsAlone) {
  expect_left_alone(pair_with("m = Pad (c, spatial, one)"), "a value other than zero");
  expect_left_alone(pair_with("p = Pad (c, channel) m = Relu (p)", "float[N, M, H, W] y", "Conv <group = 1> (m, w5)",
                              "Conv <group = 1> (x, w0, b0)")
                        .replace(pair_with("").find("> { c ="), 0, ", float[2, 5, 1, 1] w5 = " + numbers(10, 5)),
                    "channels");
  expect_left_alone(pair_with("m = Relu (c)", "float[N, M, H, W] y, float[1, 4, 6, 6] c"), "output of the model");
  expect_left_alone(
      pair_with("s = Relu (w0) z = ReduceSum <keepdims = 0> (s) m = Relu (c)", "float[N, M, H, W] y, float z"),
      "other readers");
  expect_left_alone(pair_with("k = Relu (b0) m = Relu (c)", "float[N, M, H, W] y, float[4] k"), "other readers");
  expect_left_alone(pair_with("k = Neg (w1) m = Relu (c)", "float[N, M, H, W] y", "Conv <group = 1> (m, k)"),
                    "no stored float weight");
  expect_left_alone(pair_with("k = Neg (b0) m = Relu (c)", "float[N, M, H, W] y", "Conv <group = 1> (m, w1)",
                              "Conv <group = 1> (x, w0, k)"),
                    "is not stored");
}

TEST(CrossLayerEqualizationTest, LeavesAveragesOfChannelsAlone) {
  const std::string all = pair_with("m = ReduceMean (c, ch)", "float[N, M, H, W] y", "Conv <group = 1> (m, wm)");
  std::string body = all;
  body.replace(body.find("> { c ="), 0, ", float[2, 1, 1, 1] wm = {1, 2}");
  expect_left_alone(body, "channels");
}

TEST(CrossLayerEqualizationTest, LeavesWhatIsNotSelectedAlone) {
  config::Settings settings = test::settings_for("A8W8");
  settings.exclude_op_types = {"Conv"};
  expect_left_alone(pair_with("m = Relu (c)"), "", settings);
}

TEST(CrossLayerEqualizationTest, MissingGroupCountsAsOneExceptInCompatMode) {
  const std::string body = pair_with("m = Relu (c)", "float[N, M, H, W] y", "Conv (m, w1)", "Conv (x, w0, b0)");
  expect_equalizes(body);
  expect_left_alone(body, "", compat_settings());
}

TEST(CrossLayerEqualizationTest, DeadChannelsKeepTheirBiases) {
  PassBench bench(test::model_of(R"(g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y)
      <float[2, 1, 1, 1] w0 = {4, 1e-30}, float[2] b0 = {-2, 1e-20}, float[1, 2, 1, 1] w1 = {1, 1}> {
        c = Conv <group = 1> (x, w0, b0)
        r = Relu (c)
        y = Conv <group = 1> (r, w1)
      })"));
  bench.run(select_nodes);
  EXPECT_TRUE(bench.run(cross_layer_equalization));
  EXPECT_EQ(bench.graph().constant(bench.value("b0"))->data<float>()[1], 1e-20f);
  EXPECT_EQ(ir::to_double(*bench.graph().constant(bench.value("w1"))).value(), (std::vector<double>{2, 1}));
}

TEST(CrossLayerEqualizationTest, RoundsToTheStoredType) {
  // Written as bits: 4 and 1.
  PassBench bench(test::model_of(R"(g (float16[1, 1, 2, 2] x) => (float16[1, 1, 2, 2] y)
      <float16[1, 1, 1, 1] w0 = {17408}, float16[1, 1, 1, 1] w1 = {15360}> {
        c = Conv <group = 1> (x, w0)
        y = Conv <group = 1> (c, w1)
      })"));
  bench.run(select_nodes);
  EXPECT_TRUE(bench.run(cross_layer_equalization));
  for (const char* name : {"w0", "w1"}) {
    const ir::Tensor& stored = *bench.graph().constant(bench.value(name));
    EXPECT_EQ(stored.type(), ElementType::kFloat16);
    EXPECT_EQ(ir::to_double(stored).value(), std::vector<double>{2});
  }
}

TEST(CrossLayerEqualizationTest, TriplesKeepTheFunction) {
  PassBench bench(test::model_of(
      cat("g (float[1, 3, 6, 6] x) => (float[N, M, H, W] y) <float[4, 3, 1, 1] w0 = ", numbers(12, 1, -3, 3),
          ", float[4] b0 = ", numbers(4, 2), ", float[4, 1, 3, 3] w1 = ", numbers(36, 3),
          ", float[4] b1 = ", numbers(4, 5), ", float[2, 4, 1, 1] w2 = ", numbers(8, 6, -0.2, 0.2),
          "> { c = Conv <group = 1> (x, w0, b0) r = Relu (c) d = Conv <group = 4> (r, w1, b1) s = Relu (d)",
          " y = Conv <group = 1> (s, w2) }")));
  bench.run(select_nodes);
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(cross_layer_equalization));
  test::expect_same_outputs(before, bench.model);
}

std::string clip_with(const std::string& low, const std::string& high) {
  return cat("g (float[1, 8] x) => (float[1, 8] y) <float low = {", low, "}, float high = {", high,
             "}> { y = Clip (x, low, high) }");
}

TEST(ReplaceClip6ReluTest, ReplacesClipFromZeroToSix) {
  PassBench bench(clip_with("0", "6.00001"));
  EXPECT_TRUE(bench.run(replace_clip6_relu));
  EXPECT_EQ(bench.ops(), "Relu");
  EXPECT_FALSE(bench.graph().find("low").valid());
  expect_idle(bench, replace_clip6_relu);
  PassBench old(test::model_of("g (float[8] x) => (float[8] y) { y = Clip <min = 0.0, max = 6.0> (x) }", 9));
  EXPECT_TRUE(old.run(replace_clip6_relu));
  EXPECT_EQ(old.ops(), "Relu");
}

TEST(ReplaceClip6ReluTest, KeepsOtherClipsAndTheirLimits) {
  PassBench five(clip_with("0", "5"));
  expect_idle(five, replace_clip6_relu);
  PassBench below(clip_with("-0.1", "6"));
  expect_idle(below, replace_clip6_relu);
  PassBench open("g (float[8] x) => (float[8] y) <float low = {0}> { y = Clip (x, low) }");
  expect_idle(open, replace_clip6_relu);
  PassBench computed("g (float[8] x, float h) => (float[8] y) <float low = {0}> { y = Clip (x, low, h) }");
  expect_idle(computed, replace_clip6_relu);
  PassBench shared(
      "g (float[8] x) => (float[8] y) <float low = {0}, float high = {6}, float two = {2}> "
      "{ a = Clip (x, low, high) y = Clip (a, low, two) }");
  EXPECT_TRUE(shared.run(replace_clip6_relu));
  EXPECT_EQ(shared.ops(), "Relu Clip");
}

/// A stem with channels of range 1 and 0.1 and `tail` from value c to value y.
std::string stem_with(const std::string& tail, const std::string& outputs = "float[N, C, H, W] y") {
  return cat("g (float[1, 1, 4, 4] x) => (", outputs,
             ") <float[2, 1, 1, 1] w = {1, 0.1}, float[2] g2 = ", numbers(2, 1, 0.5, 2),
             ", float[2] m2 = ", numbers(2, 2), ", float[2] v2 = {1, 2}, float[4] g4 = ", numbers(4, 3, 0.5, 2),
             ", float[4] m4 = ", numbers(4, 4), ", float[4] v4 = {1, 2, 3, 4}, ",
             "int64[8] spatial = {0, 0, 1, 1, 0, 0, 1, 1}> { c = Conv (x, w)\n", tail, "}");
}

void expect_stem(const std::string& body, bool fires) {
  PassBench bench(test::model_of(body, 18));
  bench.run(select_nodes);
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run(equalize_stem), fires) << body;
  test::expect_same_outputs(before, bench.model);
  if (!fires) {
    EXPECT_EQ(ir::dump(before), ir::dump(bench.model));
    return;
  }
  const std::string once = ir::dump(bench.model);
  EXPECT_FALSE(bench.run(equalize_stem));
  EXPECT_EQ(ir::dump(bench.model), once);
}

TEST(EqualizeStemTest, CompensatesInEveryNormalization) {
  expect_stem(stem_with("y = BatchNormalization (c, g2, m2, m2, v2)"), false);  // beta is mean here: shared
  expect_stem(stem_with("y = BatchNormalization (c, g2, v2, m2, v2)"), true);
  expect_stem(stem_with("p = Pad (c, spatial) q = MaxPool <kernel_shape = [2, 2]> (p)"
                        "y = BatchNormalization (q, g2, v2, m2, v2)"),
              true);
  expect_stem(stem_with("r = Relu (c) k = Concat <axis = 1> (r, c) z = BatchNormalization (c, g2, v2, m2, v2)"
                        "y = BatchNormalization (k, g4, v4, m4, v4)",
                        "float[N, C, H, W] y, float[N, D, H, W] z"),
              true);
  expect_stem(stem_with("k = Concat <axis = 1> (c, c) y = BatchNormalization (k, g4, v4, m4, v4)"), true);
}

TEST(EqualizeStemTest, StopsAtOtherReaders) {
  expect_stem(stem_with("s = Sigmoid (c) z = Relu (s) y = BatchNormalization (c, g2, v2, m2, v2)",
                        "float[N, C, H, W] y, float[N, D, H, W] z"),
              false);
  expect_stem(stem_with("y = BatchNormalization (c, g2, v2, m2, v2)", "float[N, C, H, W] y, float[N, D, H, W] c"),
              false);
  expect_stem(stem_with("k = Concat <axis = 2> (c, c) y = BatchNormalization (k, g2, v2, m2, v2)"), false);
  expect_stem(stem_with("y = Relu (c)"), false);
  expect_stem(stem_with("k = Neg (w) z = ReduceSum <keepdims = 0> (k) y = BatchNormalization (c, g2, v2, m2, v2)",
                        "float[N, C, H, W] y, float z"),
              false);
}

}  // namespace
}  // namespace quarkq::pass_tests
