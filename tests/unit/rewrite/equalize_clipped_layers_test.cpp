// SPDX-License-Identifier: MIT
// Equalization across Clip: channels that stay below the limit are scaled, those that reach it are not, and the
// function on the samples stays.
#include "ir/constants.h"
#include "support/legalize_samples.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::numbers;

/// Three channels before a Clip(0, 6): small weights, large weights, and one that is clipped.
std::string three_channels(const std::string& bias = "{0.5, 0.5, 0.5}") {
  return cat("g (float[1, 1, 4, 4] x) => (float[1, 2, 4, 4] y) <float[3, 1, 1, 1] w0 = {0.01, 1, 40}, float[3] b0 = ",
             bias, ", float[2, 3, 1, 1] w1 = {8, 0.5, 0.1, -4, 0.25, 0.3}, float low = {0}, float high = {6}> {\n",
             "a = Conv <group = 1> (x, w0, b0) b = Clip (a, low, high) y = Conv <group = 1> (b, w1) }");
}

struct ClippedBench {
  explicit ClippedBench(const std::string& network, float most = 2)
      : bench(test::model_of(network)), before(bench.model), samples(bench.graph(), 8, 0, most) {
    bench.context.source.data = &samples;
    bench.run(select_nodes);
  }

  bool run() { return bench.run(equalize_clipped_layers); }
  std::vector<float> floats(const std::string& name) const {
    return ir::float_values(*bench.model.graph.constant(bench.model.graph.find(name))).value();
  }
  /// Mean square of what changed in the outputs on the samples.
  double change() const { return test::output_difference(before, bench.model, samples).square; }

  test::PassBench bench;
  ir::Model before;
  test::RandomSamples samples;
};

TEST(EqualizeClippedLayersTest, ScalesChannelsBelowTheLimitOnly) {
  ClippedBench clipped(three_channels());
  EXPECT_TRUE(clipped.run());
  EXPECT_LT(clipped.change(), 1e-9);
  const std::vector<float> head = clipped.floats("w0"), bias = clipped.floats("b0"), tail = clipped.floats("w1");
  EXPECT_GT(head[0], 0.05);      // the small one grew
  EXPECT_FLOAT_EQ(head[2], 40);  // this one is clipped: 40 * 2 > 6
  EXPECT_FLOAT_EQ(tail[2], 0.1f);
  EXPECT_FLOAT_EQ(tail[5], 0.3f);
  for (size_t c = 0; c < 3; ++c) {
    const float factor = bias[c] / 0.5f;
    EXPECT_NEAR(tail[c] * factor, (std::vector<float>{8, 0.5f, 0.1f})[c], 1e-4) << c;
  }
}

TEST(EqualizeClippedLayersTest, LeavesHeadroomBelowTheLimit) {
  ClippedBench clipped(three_channels());
  EXPECT_TRUE(clipped.run());
  const float largest = clipped.floats("w0")[0] * 2 + clipped.floats("b0")[0];
  EXPECT_LE(largest, 6 / 1.09f);
}

TEST(EqualizeClippedLayersTest, ABiasDoesNotGrowBeyondTheLargestOne) {
  ClippedBench clipped(three_channels("{-5.9, 0.5, -100}"));
  EXPECT_TRUE(clipped.run());
  for (const float bias : clipped.floats("b0")) EXPECT_LE(std::abs(bias), 100.0f);
  ClippedBench small(three_channels("{-5.9, 0.5, 0.5}"));
  small.run();
  EXPECT_LE(std::abs(small.floats("b0")[0]), 6.001f);
}

TEST(EqualizeClippedLayersTest, DepthwiseLayersAndPadsAreChains) {
  ClippedBench clipped(
      cat("g (float[1, 2, 6, 6] x) => (y) <float[4, 2, 1, 1] w0 = ", numbers(8, 1, -0.01, 0.01),
          ", float[4, 1, 3, 3] w1 = ", numbers(36, 2, -0.3, 3), ", float[3, 4, 1, 1] w2 = ", numbers(12, 3),
          ", float low = {0}, float high = {6}, ",
          "int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> { a = Conv <group = 1> (x, w0) b = Clip (a, low, high) ",
          "p = Pad (b, pads) c = Conv <group = 4> (p, w1) d = Clip (c, low, high) y = Conv <group = 1> (d, w2) }"));
  EXPECT_TRUE(clipped.run());
  EXPECT_LT(clipped.change(), 1e-9);
  EXPECT_NE(clipped.floats("w0"),
            ir::float_values(*clipped.before.graph.constant(clipped.before.graph.find("w0"))).value());
  EXPECT_NE(clipped.floats("w2"),
            ir::float_values(*clipped.before.graph.constant(clipped.before.graph.find("w2"))).value());
}

TEST(EqualizeClippedLayersTest, ClipOfOldOpsetsHasAttributes) {
  test::PassBench bench(test::model_of(
      cat("g (float[1, 1, 4, 4] x) => (float[1, 2, 4, 4] y) <float[3, 1, 1, 1] w0 = {0.01, 1, 4}, float[2, 3, 1, 1] w1 "
          "= ",
          numbers(6, 1),
          "> { a = Conv <group = 1> (x, w0) b = Clip <min = 0.0, max = 6.0> (a) y = Conv <group = 1> (b, w1) }"),
      9));
  const test::RandomSamples samples(bench.graph(), 4, 0, 1);
  bench.context.source.data = &samples;
  bench.run(select_nodes);
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(equalize_clipped_layers));
  EXPECT_LT(test::output_difference(before, bench.model, samples).square, 1e-9);
}

TEST(EqualizeClippedLayersTest, WithoutSamplesNothingIsKnown) {
  test::PassBench bench(test::model_of(three_channels()));
  bench.run(select_nodes);
  test::expect_idle(bench, equalize_clipped_layers);
}

TEST(EqualizeClippedLayersTest, ResultsThatAreNoNumbersKeepTheirChannels) {
  ClippedBench clipped(three_channels("{0.5, 0.5, 0.5}"), std::numeric_limits<float>::max());
  clipped.run();
  for (const float value : clipped.floats("w0")) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace quarkq::pass_tests
