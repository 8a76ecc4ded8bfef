// SPDX-License-Identifier: MIT
// A written model becomes a float graph and a plan; writing that again gives the same model.
#include "qdq/import/lift.h"

#include "support/npu_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// Quantized with parameters that the pass fill_parameters() made up.
struct WrittenBench : PassBench {
  WrittenBench(ir::Model made, const config::Settings& settings) : PassBench(std::move(made), settings) {
    test::run_phases(*this, {"select", "mark"});
    write();
  }
  void write() {
    test::fill_parameters(graph(), context.plan);
    int position = 0;
    for (const plan::QuantSlot& slot : context.plan.slots()) {  // all different, so that mixing them up shows
      if (slot.provider.valid()) continue;
      plan::ParamList list = context.plan.params[slot.stage.params];
      for (numeric::QuantParams& own : list) own.scale = numeric::scale_of_position(++position % 100);
      context.plan.params.set(slot.stage.params, list);
    }
    run(write_qdq);
  }
};

std::string slots_text(const plan::QuantPlan& plan, const ir::Graph& graph) {
  std::vector<std::string> lines;
  for (const plan::QuantSlot& slot : plan.slots()) {
    if (slot.state == plan::SlotState::kAbsorbed) continue;
    lines.push_back(cat(graph.value(slot.value).name, " ", name(slot.stage.spec.type), " ",
                        plan.params[slot.stage.params][0].scale, " ", static_cast<int>(slot.role), " ",
                        slot.codes.has_value()));
  }
  std::sort(lines.begin(), lines.end());
  return join(lines, "\n");
}

/// The float graph, the slots and the written model come back.
void expect_round_trip(const ir::Model& before, WrittenBench& bench) {
  const Result<LiftedModel> lifted = lift(bench.model);
  ASSERT_TRUE(lifted.ok()) << lifted.status().message();
  EXPECT_EQ(ir::verify(lifted.value().model.graph).message(), "");
  EXPECT_EQ(lifted.value().model.graph.order().size(), before.graph.order().size());
  EXPECT_EQ(slots_text(lifted.value().plan, lifted.value().model.graph), slots_text(bench.context.plan, before.graph));
}

TEST(LiftTest, GivesBackSlotsOfEachKind) {
  const ir::Model before = test::model_of(
      "g (float[1, 1, 2, 2] x) => (float[1, 2, 2, 2] y) <float[2, 1, 1, 1] w = {0.5, -1.0}, float[2] b = {0.25, 0.5}> "
      "{ c = Conv (x, w, b) a = Relu (c) y = MaxPool <kernel_shape = [1, 1]> (a) }");
  for (const char* preset : {"A8W8", "XINT8"}) {
    WrittenBench bench(before, test::settings_for(preset));
    expect_round_trip(before, bench);
    const LiftedModel lifted = lift(bench.model).value();
    const ir::Graph& graph = lifted.model.graph;
    EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
    // MaxPool's output shares the parameters of its input.
    EXPECT_EQ(lifted.plan.slot(graph.find("a")).stage.params, lifted.plan.slot(graph.find("y")).stage.params);
    if (std::string(preset) == "A8W8") {
      EXPECT_EQ(lifted.plan.slot(graph.find("b")).bias->weight, graph.find("w"));
    }
  }
}

TEST(LiftTest, PerChannelWeightsAndDedicatedPairs) {
  const ir::Model before = test::model_of(
      "g (float[1, 1, 2, 2] x) => (float[1, 2, 2, 2] y, float[1, 2, 2, 2] z) <float[2, 1, 1, 1] w = {0.5, -1.0}> "
      "{ y = Conv (x, w) z = Add (x, x) }");
  WrittenBench bench(before, test::settings_for("A8W8", {"per_channel=true", "DedicatedQDQPair=true"}));
  expect_round_trip(before, bench);
  const LiftedModel lifted = lift(bench.model).value();
  EXPECT_TRUE(lifted.plan.dedicated_pairs);
  EXPECT_EQ(lifted.plan.dedicated_uses[static_cast<size_t>(lifted.model.graph.find("x").index)].size(), 3u);
  const plan::QuantSlot& weight = lifted.plan.slot(lifted.model.graph.find("w"));
  EXPECT_TRUE(weight.stage.spec.per_channel);
  EXPECT_EQ(lifted.plan.params[weight.stage.params].size(), 2u);
}

TEST(LiftTest, DequantizesStoredIntegers) {
  ir::Model model = test::model_of(
      "g (float[1, 1, 1, 1] x) => (float[1, 2, 1, 1] y) "
      "<int8[2, 1, 1, 1] w_quantized = {4, -6}, float[2] w_scale = {0.5, 0.25}, int8[2] w_zero_point = {0, 2}> "
      "{ w = DequantizeLinear <axis = 0> (w_quantized, w_scale, w_zero_point) y = Conv (x, w) }");
  const LiftedModel lifted = lift(model).value();
  const auto values = lifted.model.graph.constant(lifted.model.graph.find("w"))->data<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{2.0f, -2.0f}));
  EXPECT_FALSE(lifted.model.graph.find("w_scale").valid());
}

TEST(LiftTest, LeavesWhatItDoesNotKnow) {
  for (const char* body : {// The scale is an input.
                           "g (float[2] x, float s) => (float[2] y) <uint8 z = {0}> "
                           "{ q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Relu (d) }",
                           // The float value is read, too.
                           "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {0}> "
                           "{ q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Add (d, x) }",
                           // Q and DQ differ.
                           "g (float[2] x) => (float[2] y) <float s = {0.5}, float t = {0.25}, uint8 z = {0}> "
                           "{ q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, t, z) y = Relu (d) }",
                           // The integers are read, too.
                           "g (float[2] x) => (float[2] y, uint8[2] q) <float s = {0.5}, uint8 z = {0}> "
                           "{ q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Relu (d) }",
                           // No plan holds such a zero point.
                           "g (float[2] x) => (float[2] y) <float s = {0.5}, uint32 z = {4000000000}> "
                           "{ q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Relu (d) }",
                           // Nothing in between: an input cannot take the output's name.
                           "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {0}> "
                           "{ q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z) }"}) {
    const ir::Model model = test::model_of(body);
    const Result<LiftedModel> lifted = lift(model);
    ASSERT_TRUE(lifted.ok()) << lifted.status().message();
    EXPECT_TRUE(lifted.value().plan.slots().empty()) << body;
    EXPECT_EQ(ir::dump(lifted.value().model), ir::dump(model)) << body;
  }
}

class LiftSharedModelsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LiftSharedModelsTest, GivesBackThePlan) {
  for (const char* preset : {"XINT8", "A8W8"}) {
    test::PlannedModel planned(GetParam(), test::settings_for(preset));
    const ir::Model before = planned.model;
    const plan::Selection selection = planned.context.selection;
    WrittenBench bench(before, planned.settings);
    const LiftedModel lifted = lift(bench.model).value();
    EXPECT_EQ(lifted.model.graph.order().size(), before.graph.order().size());
    EXPECT_EQ(slots_text(lifted.plan, lifted.model.graph), slots_text(bench.context.plan, before.graph));
  }
}

INSTANTIATE_TEST_SUITE_P(SharedModels, LiftSharedModelsTest, ::testing::ValuesIn(test::models_with_stages("XINT8")),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LiftSharedModelsTest);

}  // namespace
}  // namespace quarkq::pass_tests
