// SPDX-License-Identifier: MIT
// Gates become HardSigmoid, layers around them take slopes and gains, and the function on the samples stays close.
#include <algorithm>
#include <cmath>

#include "ir/constants.h"
#include "rewrite/hardware/channel_scales.h"
#include "rewrite/hardware/gate_fit.h"
#include "support/legalize_samples.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::numbers;

/// A network with Sigmoids before and after the pass, and with HardSigmoid alone.
struct GateBench {
  explicit GateBench(const std::string& network)
      : bench(test::model_of(network), test::settings_for("XINT8")),
        before(bench.model),
        plain(bench.model),
        samples(bench.graph(), 8, 0, 2) {
    ir::GraphEdit edit(plain.graph);
    for (const ir::NodeId id : std::vector<ir::NodeId>(plain.graph.order())) {
      if (!plain.graph.node(id).is("Sigmoid")) continue;
      edit.node(id).op = "HardSigmoid";
      edit.node(id).set("alpha", 1.0f / 6);
    }
    bench.context.source.data = &samples;
    bench.run(select_nodes);
  }

  bool run() { return bench.run(fit_gates); }
  std::vector<float> floats(const ir::Model& model, const std::string& name) const {
    return ir::float_values(*model.graph.constant(model.graph.find(name))).value();
  }
  /// By channel: what the pass multiplied the weights of `name` with; `inner` weights of each channel in a row.
  std::vector<double> ratios(const std::string& name) const {
    const std::vector<float> a = floats(before, name), b = floats(bench.model, name);
    std::vector<double> found;
    for (size_t i = 0; i < a.size(); ++i) found.push_back(b[i] / double{a[i]});
    return found;
  }
  /// Mean square of what changed in the outputs on the samples.
  double change() const { return test::output_difference(before, bench.model, samples).square; }
  double plain_change() const { return test::output_difference(before, plain, samples).square; }

  test::PassBench bench;
  ir::Model before, plain;
  test::RandomSamples samples;
};

std::string floats_text(const std::vector<double>& values) {
  std::vector<std::string> parts;
  for (const double value : values) parts.push_back(cat(value));
  return "{" + join(parts, ", ") + "}";
}

const std::string kHead = cat("<float[4, 3, 1, 1] w0 = ", numbers(12, 1, -1, 1), ", float[4] b0 = ", numbers(4, 2),
                              ", float[2, 4, 1, 1] w1 = ", numbers(8, 3));

TEST(FitGatesTest, LayersTakeSlopeAndGain) {
  GateBench gates(cat("g (float[1, 3, 8, 8] x) => (float[1, 2, 8, 8] y) ", kHead,
                      "> { a = Conv (x, w0, b0) s = Sigmoid (a) m = Mul (a, s) y = Conv (m, w1) }"));
  EXPECT_TRUE(gates.run());
  EXPECT_EQ(gates.bench.ops(), "Conv HardSigmoid Mul Conv");
  EXPECT_LT(gates.change(), 0.2 * gates.plain_change()) << gates.plain_change();
  const std::vector<double> rows = gates.ratios("w0"), columns = gates.ratios("w1"), biases = gates.ratios("b0");
  std::vector<double> slopes, gains;
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(rows[3 * c], rows[3 * c + 2], 1e-5);
    EXPECT_NEAR(rows[3 * c], biases[c], 1e-5);
    EXPECT_NEAR(columns[c], columns[4 + c], 1e-5);
    slopes.push_back(rows[3 * c]);
    gains.push_back(rows[3 * c] * columns[c]);
  }
  // The same function with slopes and gains as operators of their own.
  const ir::Model apart = test::model_of(
      cat("g (float[1, 3, 8, 8] x) => (float[1, 2, 8, 8] y) ", kHead,
          ", float[1, 4, 1, 1] slope = ", floats_text(slopes), ", float[1, 4, 1, 1] gain = ", floats_text(gains),
          "> { a = Conv (x, w0, b0) k = Mul (a, slope) s = HardSigmoid <alpha = 0.16666667> (k) m = Mul (a, s) ",
          "n = Mul (m, gain) y = Conv (n, w1) }"));
  EXPECT_LT(test::output_difference(apart, gates.bench.model, gates.samples).square, 1e-8);
}

struct Pattern {
  const char* name;
  std::string nodes;  ///< Between the product m and the result y.
  double most;        ///< Of the change that HardSigmoid alone makes.
};

class FitGatesPatternTest : public ::testing::TestWithParam<Pattern> {};

TEST_P(FitGatesPatternTest, KeepsTheFunction) {
  GateBench gates(cat("g (float[1, 3, 8, 8] x) => (float[1, 2, h, w] y) ", kHead,
                      ", float[4, 4, 1, 1] w2 = ", numbers(16, 4), ", float[4] b2 = ", numbers(4, 5),
                      ", float[2, 8, 1, 1] w3 = ", numbers(16, 6), ", int64[2] halves = {2, 2}",
                      ", float[4] scales = {1, 1, 2, 2}> { a = Conv (x, w0, b0) s = Sigmoid (a) m = Mul (a, s) ",
                      GetParam().nodes, " }"));
  EXPECT_TRUE(gates.run());
  EXPECT_LT(gates.change(), GetParam().most * gates.plain_change()) << gates.plain_change();
  EXPECT_EQ(gates.bench.graph().order().size(), gates.before.graph.order().size());
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, FitGatesPatternTest,
    ::testing::Values(
        Pattern{"Sum", "c = Conv (m, w2, b2) t = Sigmoid (c) n = Mul (c, t) u = Add (m, n) y = Conv (u, w1)", 0.8},
        Pattern{"Concat",
                "c = Conv (m, w2, b2) t = Sigmoid (c) n = Mul (c, t) u = Concat <axis = 1> (m, n) "
                "y = Conv (u, w3)",
                0.3},
        Pattern{"Pool", "p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (m) y = Conv (p, w1)", 0.3},
        Pattern{"Resize", "r = Resize <mode = \"nearest\"> (m, , scales) y = Conv (r, w1)", 0.3},
        Pattern{"Split", "d, e = Split <axis = 1> (m, halves) u = Concat <axis = 1> (e, d) y = Conv (u, w1)", 0.3},
        Pattern{"SqueezeExcitation",
                "p = GlobalAveragePool (m) c = Conv (p, w2, b2) t = Sigmoid (c) n = Mul (m, t) "
                "y = Conv (n, w1)",
                0.5},
        Pattern{"OtherReader", "e = Tanh (m) u = Mul (m, e) y = Conv (u, w1)", 0.8}),
    [](const auto& info) { return info.param.name; });

TEST(FitGatesTest, ResultsOfTheModelKeepTheirScale) {
  GateBench gates(cat("g (float[1, 3, 8, 8] x) => (float[1, 2, 8, 8] y, float[1, 4, 8, 8] m) ", kHead,
                      "> { a = Conv (x, w0, b0) s = Sigmoid (a) m = Mul (a, s) y = Conv (m, w1) }"));
  EXPECT_TRUE(gates.run());
  EXPECT_EQ(gates.floats(gates.before, "w1"), gates.floats(gates.bench.model, "w1"));
  EXPECT_LT(gates.change(), gates.plain_change());
}

TEST(FitGatesTest, ASharedLayerWeightIsCopied) {
  GateBench gates(cat("g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y, float[1, 4, 8, 8] z) ",
                      "<float[4, 4, 1, 1] w = ", numbers(16, 1), ", float[4] b = ", numbers(4, 2),
                      "> { z = Conv (x, w, b) a = Conv (x, w, b) s = Sigmoid (a) m = Mul (a, s) y = Conv (m, w, b) }"));
  EXPECT_TRUE(gates.run());
  EXPECT_EQ(gates.floats(gates.before, "w"), gates.floats(gates.bench.model, "w"));
  EXPECT_LT(gates.change(), gates.plain_change());
}

TEST(FitGatesTest, WithoutSamplesNothingChanges) {
  GateBench gates(cat("g (float[1, 3, 8, 8] x) => (float[1, 2, 8, 8] y) ", kHead,
                      "> { a = Conv (x, w0, b0) s = Sigmoid (a) m = Mul (a, s) y = Conv (m, w1) }"));
  gates.bench.context.source.data = nullptr;
  EXPECT_FALSE(gates.run());
  EXPECT_EQ(gates.bench.ops(), "Conv Sigmoid Mul Conv");
}

TEST(GateFitTest, NarrowSigmoidsAreLines) {
  std::vector<float> inputs, targets;
  for (int i = 0; i < 100; ++i) {
    inputs.push_back(-5 + 0.01f * static_cast<float>(i));
    targets.push_back(1 / (1 + std::exp(-inputs.back())));
  }
  const SigmoidFit fit = fit_sigmoid(inputs, targets);
  EXPECT_LT(fit.error, 1e-6);
  const double at_middle = std::clamp((fit.slope * -4.5 + fit.shift) / 6 + 0.5, 0.0, 1.0);
  EXPECT_NEAR(at_middle, 1 / (1 + std::exp(4.5)), 1e-3);
}

}  // namespace
}  // namespace quarkq::pass_tests
