// SPDX-License-Identifier: MIT
// The guards of the default mode: what each does, what it leaves alone, and that it can be switched off.
#include <limits>

#include "pass/gate_clip.h"
#include "planning/calibrate/sentinels.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// A model up to the guards: selected, marked and calibrated with random data from -1 to 1.
struct Guarded {
  PassBench bench;
  std::unique_ptr<calib::DataReader> data;

  explicit Guarded(const std::string& body, const std::vector<std::string>& sets = {},
                   const std::string& preset = "A8W8")
      : bench(test::model_of(body), test::settings_for(preset, sets)) {
    calib::RandomDataOptions options;
    for (const ir::ValueId id : bench.model.graph.required_inputs()) {
      options.ranges[bench.model.graph.value(id).name] = {-1, 1};
    }
    data = calib::make_random_reader(calib::input_specs(bench.model.graph), options).value();
    bench.context.source.data = data.get();
    for (const Phase phase : {Phase::kSelect, Phase::kMark, Phase::kCalibrate}) {
      std::vector<const PassInfo*> passes;
      for (const PassInfo& pass : pipeline::all_passes()) {
        if (pass.phase == phase && pass.enabled(bench.settings)) passes.push_back(&pass);
      }
      std::vector<PassTime> times;
      const Status status = pipeline::run_phase(bench.context, passes, times, {});
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }

  int findings(const std::string& id) const {
    int found = 0;
    for (const Diagnostic& finding : bench.diagnostics.all()) found += finding.id == id;
    return found;
  }
  const plan::QuantSlot* slot(const std::string& name) const { return bench.context.plan.find(bench.value(name)); }
};

/// A causal mask of this value on scores, and what reads the sum.
std::string attention(const std::string& masked, const std::string& readers) {
  std::string mask;
  for (int i = 0; i < 16; ++i) mask += cat(i == 0 ? "" : ", ", i % 4 > i / 4 ? masked : "0.0");
  return cat("g (float[4,4] x) => (float[4,4] y) <float[4,4] mask = {", mask,
             "}> { s = MatMul (x, x) m = Add (s, mask) ", readers, " }");
}
constexpr const char* kLowest = "-340282346638528859811704183484516925440.0";
constexpr const char* kSoftmax = "p = Softmax (m) y = MatMul (p, x)";

TEST(SentinelGuardTest, ScoresKeepTheirStepsAndSentinelsSaturate) {
  for (const char* masked : {kLowest, "-1000000000.0", "-10000.0"}) {
    const Guarded made(attention(masked, kSoftmax));
    EXPECT_EQ(made.findings("guard-sentinel-range"), 2) << masked;
    ASSERT_NE(made.slot("m"), nullptr);
    const numeric::Range range = *made.slot("m")->range;
    EXPECT_GE(range.min, -4 - 8.5f);
    EXPECT_LE(range.min, -8);
    EXPECT_LE(range.max, 4);
    const float mask_scale = made.bench.context.plan.params[made.slot("mask")->stage.params][0].scale;
    EXPECT_LT(mask_scale, 1);
    EXPECT_LE(mask_scale * -128, range.min);  // a masked score saturates after the addition, too
  }
}

TEST(SentinelGuardTest, InAllIntegerFlows) {
  for (const char* preset : {"XINT8", "VINT8", "A16W8", "S8S8_AAWS"}) {
    const Guarded made(attention(kLowest, kSoftmax), {}, preset);
    EXPECT_EQ(made.findings("guard-sentinel-range"), 2) << preset;
    EXPECT_GE(made.slot("m")->range->min, -64) << preset;
  }
}

TEST(SentinelGuardTest, LeavesOthersAlone) {
  const Guarded small(attention("-40.0", kSoftmax));  // such a score counts
  EXPECT_EQ(small.findings("guard-sentinel-range"), 0);
  const Guarded seen(attention(kLowest, "p = Softmax (m) y = Max (m, p)"));  // another node reads the values
  EXPECT_EQ(seen.findings("guard-sentinel-range"), 0);
}

TEST(SentinelGuardTest, CanBeSwitchedOff) {
  for (const char* set : {"quarkq.guards=off", "guards=off", "quarkq.compat=quark-0.13"}) {
    const Guarded made(attention("-1000000000.0", kSoftmax), {set});
    EXPECT_EQ(made.findings("guard-sentinel-range"), 0) << set;
    EXPECT_LT(made.slot("m")->range->min, -9e8f) << set;
  }
}

std::optional<calib::ValueStatistics> real_of(const std::vector<float>& values) {
  calib::ValueStatistics seen(/*with_bins=*/true);
  seen.add(values.data(), static_cast<int64_t>(values.size()), 0);
  return without_sentinels(seen);
}

TEST(SentinelsTest, AreIsolatedValuesFarBelow) {
  const auto real = real_of({-1e9f, -65504, 0.5f, -2, 3});
  ASSERT_TRUE(real.has_value());
  EXPECT_EQ(real->count(), 5u);  // of the records; the bins are without
  EXPECT_NEAR(real->extremes().min, -2, 0.01);
  EXPECT_EQ(real->extremes().max, 3);
  EXPECT_EQ(real->bins().size(), 3u);
  EXPECT_TRUE(real_of({-std::numeric_limits<float>::infinity(), 0.5f}).has_value());
}

TEST(SentinelsTest, AreNoRealScores) {
  EXPECT_FALSE(real_of({-100, 0.5f, -2, 3}).has_value());                   // exp(-100) is a number
  EXPECT_FALSE(real_of({-3000, -1500, -700, -300, -100, -2}).has_value());  // no gap
  EXPECT_FALSE(real_of({1e9f, -2, 3}).has_value());                         // this one wins
}

/// Scores of 0 to 1 beside boxes of hundreds, and what is made of them.
std::string detector(const std::string& scale, const std::string& readers) {
  return cat("g (float[1,8] x) => (float[1,16] y) <float k = {", scale, "}, float[16,16] w = ", test::numbers(256, 3),
             "> { a = Sigmoid (x) b = Mul (x, k) ", readers, " }");
}
constexpr const char* kTail = "c = Concat <axis = 1> (a, b) y = Sigmoid (c)";

TEST(FarRangesGuardTest, PlanningAgainKeepsSecondStages) {
  // A Sigmoid in 16 bits reads and writes a second format; the guard plans again all the same.
  const Guarded made(detector("600.0", kTail), {"TensorQuantOverrides={a: [{quant_type: ExtendedQuantType.QInt16}]}",
                                                "EnableDualQuantNodePairs=true"});
  EXPECT_EQ(made.findings("guard-far-ranges"), 1);
  EXPECT_FALSE(made.bench.context.plan.extras.empty());
  EXPECT_EQ(made.slot("c"), nullptr);
  ASSERT_NE(made.slot("x"), nullptr);
  EXPECT_TRUE(made.slot("x")->range.has_value());
}

TEST(FarRangesGuardTest, KeepsConcatAndTailFloat) {
  const Guarded made(detector("500.0", kTail));
  EXPECT_EQ(made.findings("guard-far-ranges"), 1);
  EXPECT_EQ(made.slot("c"), nullptr);
  EXPECT_EQ(made.slot("y"), nullptr);
  for (const char* input : {"a", "b"}) {
    ASSERT_NE(made.slot(input), nullptr);
    EXPECT_TRUE(made.slot(input)->range.has_value());
  }
  EXPECT_LE(made.bench.context.plan.params[made.slot("a")->stage.params][0].scale, 1.0f / 100);
}

TEST(FarRangesGuardTest, OnlySaysItInFrontOfALayer) {
  const Guarded made(detector("500.0", "c = Concat <axis = 1> (a, b) y = MatMul (c, w)"));
  EXPECT_EQ(made.findings("guard-far-ranges"), 0);
  EXPECT_EQ(made.findings("far-ranges"), 1);
  EXPECT_NE(made.slot("c"), nullptr);
}

TEST(FarRangesGuardTest, LeavesNearRangesAlone) {
  const Guarded made(detector("1.0", kTail));
  EXPECT_EQ(made.findings("guard-far-ranges") + made.findings("far-ranges"), 0);
  EXPECT_NE(made.slot("c"), nullptr);
}

TEST(FarRangesGuardTest, CanBeSwitchedOff) {
  for (const char* set : {"quarkq.guards=off", "quarkq.compat=quark-0.13"}) {
    const Guarded made(detector("500.0", kTail), {set});
    EXPECT_EQ(made.findings("guard-far-ranges"), 0) << set;
    EXPECT_EQ(made.findings("far-ranges"), 1) << set;
    EXPECT_NE(made.slot("c"), nullptr) << set;
  }
}

/// 64 boxes of two numbers from a layer, moved by a table of cells.
std::string boxes(const std::string& readers) {
  return cat("g (float[64,8] x) => (float[64,4] y) <float[8,4] w = ", test::numbers(32, 3),
             ", float[64,2] cells = ", test::numbers(128, 5),
             ", int64[2] parts = {2, 2}, float[4,4] v = ", test::numbers(16, 7),
             "> { m = MatMul (x, w) a, b = Split <axis = 1> (m, parts) s = Sigmoid (a) p = Add (s, cells) "
             "c = Concat <axis = 1> (p, b) ",
             readers, " }");
}

TEST(FarRangesGuardTest, KeepsDecodingOfBoxesFloat) {
  const Guarded made(boxes("y = Identity (c)"), {}, "XINT8");
  EXPECT_EQ(made.findings("guard-far-ranges"), 1);
  ASSERT_NE(made.slot("m"), nullptr);
  for (const char* decoded : {"a", "s", "p", "c"}) EXPECT_EQ(made.slot(decoded), nullptr) << decoded;
}

/// X1 refuses a model with a float part.
TEST(FarRangesGuardTest, StaysWithinWhatTheTargetTakes) {
  for (const char* set : {"quarkq.rescue=[]", "legalize.tail=keep"}) {
    const Guarded made(boxes("y = Identity (c)"), {set}, "XINT8");
    EXPECT_EQ(made.findings("guard-far-ranges"), 0) << set;
    EXPECT_EQ(made.findings("far-ranges"), 1) << set;
    EXPECT_NE(made.slot("p"), nullptr) << set;
  }
}

TEST(FarRangesGuardTest, TablesBeforeLayersAreNoBoxes) {
  const Guarded made(boxes("y = MatMul (c, v)"), {}, "XINT8");
  EXPECT_EQ(made.findings("guard-far-ranges"), 0);
  EXPECT_NE(made.slot("p"), nullptr);
}

TEST(FarRangesGuardTest, BoxesIn16BitsAreQuantized) {
  const Guarded made(boxes("y = Identity (c)"), {}, "A16W8");
  EXPECT_EQ(made.findings("guard-far-ranges"), 0);
  EXPECT_NE(made.slot("p"), nullptr);
}

TEST(SaturationGuardTest, RangesEndWhereSigmoidSaturates) {
  const std::string body =
      "g (float[4,4] x) => (float[4,4] y) <float k = {100.0}> { m = Mul (x, k) s = Sigmoid (m) y = MatMul (s, s) }";
  const auto top = [&](const std::vector<std::string>& sets, const std::string& preset) {
    const Guarded made(body, sets, preset);
    return made.slot("m")->range->max;
  };
  EXPECT_FLOAT_EQ(top({}, "XINT8"), 7.9f);
  EXPECT_FLOAT_EQ(top({}, "A8W8"), 7.9f);
  EXPECT_GT(top({}, "A16W8"), 50);
  EXPECT_GT(top({"guards=off"}, "A8W8"), 50);
  EXPECT_EQ(Guarded(body, {}, "XINT8").findings("guard-saturation"), 1);
  EXPECT_EQ(Guarded(body, {}, "A16W8").findings("guard-saturation"), 0);
}

std::string with_clip(const std::string& nodes) {
  return cat(
      "g (float[1,4] x) => (float[1,4] y) <float low = {0.0}, float high = {6.0}, float three = {3.0}, "
      "float six = {6.0}, float[4,4] w = ",
      test::numbers(16, 5), "> { ", nodes, " }");
}

TEST(HardSwishGuardTest, GatesKeepTheirClip) {
  for (const char* nodes : {"s = Add (x, three) c = Clip (s, low, high) p = Mul (x, c) y = Div (p, six)",
                            "s = Add (x, three) c = Clip (s, low, high) y = Div (c, six)",
                            "s = MatMul (x, w) c = Clip (s, low, high) d = Div (c, six) y = Mul (d, x)"}) {
    PassBench bench(test::model_of(with_clip(nodes)), test::settings_for("VINT8"));
    EXPECT_TRUE(is_gate(bench.graph(), bench.node("Clip")));
    test::expect_idle(bench, replace_clip6_relu);
    test::expect_idle(bench, convert_clip_to_relu);
    PassBench off(test::model_of(with_clip(nodes)), test::settings_for("VINT8", {"quarkq.guards=off"}));
    EXPECT_TRUE(off.run(replace_clip6_relu));
    PassBench compat(test::model_of(with_clip(nodes)), test::settings_for("VINT8", {"quarkq.compat=quark-0.13"}));
    EXPECT_TRUE(compat.run(replace_clip6_relu));
  }
}

TEST(HardSwishGuardTest, ARelu6IsNoGate) {
  for (const char* nodes : {"s = MatMul (x, w) c = Clip (s, low, high) y = MatMul (c, w)",
                            "s = Add (x, x) c = Clip (s, low, high) y = Mul (c, three)"}) {
    PassBench bench(test::model_of(with_clip(nodes)), test::settings_for("VINT8"));
    EXPECT_FALSE(is_gate(bench.graph(), bench.node("Clip")));
    EXPECT_TRUE(bench.run(replace_clip6_relu));
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
