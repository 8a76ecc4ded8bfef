// SPDX-License-Identifier: MIT
// Marker: what may be marked, and which of two marks on one tensor holds (ref:marking#quantizable-tensors,
// ref:marking#biases, ref:marking#channels).
#include "plan/op_rules.h"

#include "support/pass_support.h"

namespace quarkq::plan {
namespace {

/// A Conv and a MatMul around floats, plus tensors of every other kind.
constexpr const char* kModel = R"(g (float[1,2,4,4] x, int64[3] ids, float16[2] h) => (float[1,3,4,4] y)
  <float[3,2,1,1] w = {1,2,3,4,5,6}, float[3] b = {1,2,3}, int64[1] shape = {1}, float[2] vector = {1,2}> {
    c = Conv (x, w, b)
    y = Relu (c)
    k = Cos (x)
  })";

struct Bench {
  test::PassBench pass;
  QuantPlan plan;
  TensorOverrides overrides;
  TensorFormats formats;
  Marker marker;

  explicit Bench(config::Settings settings = test::settings_for("A8W8"))
      : pass(test::model_of(kModel), std::move(settings)),
        plan(pass.graph().value_count()),
        formats(TensorFormats::make(pass.settings, overrides).value()),
        marker(pass.model, pass.settings, formats, plan, pass.diagnostics) {}

  ir::ValueId id(const std::string& name) const { return pass.value(name); }
  const QuantSlot& slot(const std::string& name) { return plan.slot(id(name)); }
  std::string order() const {
    std::vector<std::string> names;
    for (const QuantSlot& one : plan.slots()) names.push_back(pass.graph().value(one.value).name);
    return join(names, " ");
  }
  bool warned(const std::string& finding) const {
    for (const Diagnostic& one : pass.diagnostics.all()) {
      if (one.id == finding) return true;
    }
    return false;
  }
};

TEST(MarkerTest, OnlyFloatTensorsAreQuantizable) {
  Bench bench;
  for (const char* name : {"x", "c", "y", "w", "b", "h"})
    EXPECT_TRUE(bench.marker.is_quantizable(bench.id(name))) << name;
  for (const char* name : {"ids", "shape"}) EXPECT_FALSE(bench.marker.is_quantizable(bench.id(name))) << name;
  EXPECT_FALSE(bench.marker.is_quantizable({}));
  bench.marker.activation(bench.id("ids"));
  bench.marker.activation({});
  EXPECT_TRUE(bench.plan.slots().empty());
}

TEST(MarkerTest, MarkedConstantsGetTheWeightType) {
  Bench bench(test::settings_for("U8S8_AAWS", {"calibrate_method=CalibrationMethod.MinMax"}));
  bench.marker.activation(bench.id("x"));
  bench.marker.activation(bench.id("w"));
  EXPECT_EQ(bench.slot("x").stage.spec.type, ElementType::kUInt8);
  EXPECT_EQ(bench.slot("x").stage.kind, StageKind::kPair);
  EXPECT_EQ(bench.slot("w").role, Role::kWeight);
  EXPECT_EQ(bench.slot("w").stage.spec.type, ElementType::kInt8);
  EXPECT_EQ(bench.slot("w").stage.kind, StageKind::kStored);
}

TEST(MarkerTest, PlainMarksNeverOverwrite) {
  Bench bench;
  bench.marker.activation(bench.id("x"));
  bench.marker.activation(bench.id("c"));
  bench.marker.same_as(bench.id("c"), bench.id("x"));
  bench.marker.activation(bench.id("c"));
  EXPECT_EQ(bench.slot("c").provider, bench.id("x"));
}

TEST(MarkerTest, SameAsAlwaysOverwritesAndKeepsThePosition) {
  Bench bench;
  for (const char* name : {"c", "x", "y"}) bench.marker.activation(bench.id(name));
  EXPECT_FALSE(bench.slot("c").provider.valid());
  bench.marker.same_as(bench.id("c"), bench.id("y"));
  bench.marker.same_as(bench.id("c"), bench.id("x"));
  EXPECT_EQ(bench.slot("c").provider, bench.id("x"));
  EXPECT_EQ(bench.order(), "c x y");
}

TEST(MarkerTest, PerChannelMarksOverwriteAndKeepThePosition) {
  Bench bench(test::settings_for("A8W8", {"per_channel=true"}));
  const ir::Node& conv = bench.pass.node("Conv");
  bench.marker.weight_per_tensor(bench.id("w"));
  bench.marker.activation(bench.id("x"));
  EXPECT_FALSE(bench.slot("w").stage.spec.per_channel);
  bench.marker.weight(bench.id("w"), -3, conv);
  EXPECT_TRUE(bench.slot("w").stage.spec.per_channel);
  EXPECT_EQ(bench.slot("w").stage.spec.axis, 1);  // counted from the end
  bench.marker.weight_per_tensor(bench.id("w"));
  EXPECT_TRUE(bench.slot("w").stage.spec.per_channel);
  EXPECT_EQ(bench.order(), "w x");
}

TEST(MarkerTest, AxesOutsideTheRankMeanPerTensor) {
  Bench bench(test::settings_for("A8W8", {"per_channel=true"}));
  bench.marker.weight(bench.id("w"), 4, bench.pass.node("Conv"));
  EXPECT_FALSE(bench.slot("w").stage.spec.per_channel);
  EXPECT_TRUE(bench.warned("per-channel-axis"));
  Bench vector(test::settings_for("A8W8", {"per_channel=true"}));
  vector.marker.weight(vector.id("vector"), 1, vector.pass.node("Conv"));  // expected of norm scales: no warning
  EXPECT_FALSE(vector.slot("vector").stage.spec.per_channel);
  EXPECT_FALSE(vector.warned("per-channel-axis"));
}

TEST(MarkerTest, PerChannelWeightsBesideUint8AreInt8) {
  Bench bench(test::settings_for("U8U8_AAWA", {"per_channel=true", "calibrate_method=CalibrationMethod.MinMax"}));
  bench.marker.weight(bench.id("w"), 0, bench.pass.node("Conv"));
  bench.marker.weight_per_tensor(bench.id("vector"));
  EXPECT_EQ(bench.slot("w").stage.spec.type, ElementType::kInt8);
  EXPECT_EQ(bench.slot("vector").stage.spec.type, ElementType::kUInt8);
}

TEST(MarkerTest, WeightsThatAreNoConstantsAreActivations) {
  Bench bench;
  bench.marker.weight(bench.id("x"), 0, bench.pass.node("Conv"));
  EXPECT_EQ(bench.slot("x").role, Role::kActivation);
}

TEST(MarkerTest, BiasesAreInt32WithTheirSource) {
  Bench bench;
  const ir::Node& conv = bench.pass.node("Conv");
  bench.marker.bias(conv, bench.id("b"), bench.id("x"), bench.id("w"), 1.0f);
  ASSERT_TRUE(bench.plan.has(bench.id("b")));
  EXPECT_EQ(bench.slot("b").role, Role::kBias);
  EXPECT_EQ(bench.slot("b").stage.spec.type, ElementType::kInt32);
  EXPECT_EQ(bench.slot("b").bias->input, bench.id("x"));
  EXPECT_EQ(bench.slot("b").bias->weight, bench.id("w"));
  bench.marker.bias(conv, bench.id("b"), bench.id("c"), bench.id("w"), 1.0f);
  EXPECT_TRUE(bench.warned("bias-shared"));
  EXPECT_EQ(bench.slot("b").bias->input, bench.id("x"));  // the first one holds
}

TEST(MarkerTest, BiasesThatAreComputedStayFloat) {
  Bench bench;
  bench.marker.bias(bench.pass.node("Conv"), bench.id("k"), bench.id("x"), bench.id("w"), 1.0f);
  EXPECT_TRUE(bench.plan.slots().empty());
  EXPECT_TRUE(bench.warned("bias-not-constant"));
  bench.marker.bias(bench.pass.node("Conv"), {}, bench.id("x"), bench.id("w"), 1.0f);
}

TEST(MarkerTest, NpuBiasesAreWeights) {
  Bench bench(test::settings_for("XINT8"));
  bench.marker.bias(bench.pass.node("Conv"), bench.id("b"), bench.id("x"), bench.id("w"), 1.0f);
  EXPECT_EQ(bench.slot("b").role, Role::kWeight);
  EXPECT_EQ(bench.slot("b").stage.spec.type, ElementType::kInt8);
  EXPECT_EQ(bench.slot("b").stage.spec.scale, numeric::ScaleKind::kPowerOfTwo);
}

TEST(MarkerTest, ExcludedOutputsStayFloat) {
  Bench bench(test::settings_for("A8W8", {"OpTypesToExcludeOutputQuantization=[Relu]"}));
  bench.marker.outputs(bench.pass.node("Relu"));
  EXPECT_TRUE(bench.plan.slots().empty());
  bench.marker.outputs(bench.pass.node("Conv"));
  EXPECT_EQ(bench.order(), "c");
}

TEST(MarkerTest, ConvRuleMarksInTheOrderOfTheReference) {
  Bench bench;
  rule_for("Conv", config::Registry::kCpu)(bench.marker, bench.pass.node("Conv"));
  EXPECT_EQ(bench.order(), "x c w b");
  rule_for("Relu", config::Registry::kCpu)(bench.marker, bench.pass.node("Relu"));
  EXPECT_EQ(bench.order(), "x c w b y");
}

TEST(MarkerTest, ReluWithoutAMarkedInputMarksNothing) {
  Bench bench;
  rule_for("Relu", config::Registry::kCpu)(bench.marker, bench.pass.node("Relu"));
  EXPECT_TRUE(bench.plan.slots().empty());
}

}  // namespace
}  // namespace quarkq::plan
