// SPDX-License-Identifier: MIT
// From selected nodes to a plan: absorbed values, shared parameters, selection.
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

std::string absorbed_names(const PassBench& bench) {
  std::vector<std::string> names;
  for (const plan::QuantSlot& slot : bench.context.plan.slots()) {
    if (slot.state == plan::SlotState::kAbsorbed) names.push_back(bench.graph().value(slot.value).name);
  }
  return join(names, " ");
}

std::string absorbed(const std::string& body, const std::vector<std::string>& sets = {}) {
  PassBench bench(test::model_of(body), test::settings_for("A8W8", sets));
  for (const PassBench::Pass& pass : {PassBench::Pass(select_nodes), PassBench::Pass(mark_tensors)}) bench.run(pass);
  bench.run(absorb_annotated);
  return absorbed_names(bench);
}

const std::string kImage = "g (float[1, 2, 4, 4] x) => (float[1, 2, A, B] y) ";
const std::string kConvModel =
    "<float[2, 2, 1, 1] w = {1, 2, 3, 4}, float lo = {0}, float six = {6}, float one = {1}, float five = {5}, float[1] "
    "slope = {0.1}> ";

TEST(AbsorbAnnotatedTest, NotesWhatLiesBeforeAnActivation) {
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = Relu (c) }"), "c");
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = LeakyRelu (c) }"), "c");
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = PRelu (c, slope) }"), "c");
  EXPECT_EQ(absorbed(kImage + "{ c = Add (x, x) y = Relu (c) }"), "c");
  EXPECT_EQ(absorbed(kImage + "{ c = GlobalAveragePool (x) y = Relu (c) }"), "c");
}

TEST(AbsorbAnnotatedTest, ClipCountsOnlyFromZeroToSixOrOne) {
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = Clip (c, lo, six) }"), "c");
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = Clip (c, lo, one) }"), "c");
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = Clip (c, lo, five) }"), "");
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = Clip (c, lo) }"), "");
}

TEST(AbsorbAnnotatedTest, PadBeforeAveragingCounts) {
  const std::string pads = "<int64[8] p = {0,0,1,1,0,0,1,1}> ";
  EXPECT_EQ(absorbed(kImage + pads + "{ c = Pad (x, p) y = AveragePool <kernel_shape = [2,2]> (c) }"), "c");
  EXPECT_EQ(absorbed(kImage + pads + "{ c = Pad (x, p) y = Relu (c) }"), "");
}

TEST(AbsorbAnnotatedTest, OtherReadersOutputsAndProducersDoNot) {
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) r = Relu (c) y = Add (r, c) }"), "");
  EXPECT_EQ(absorbed("g (float[1, 2, 4, 4] x) => (float[1, 2, A, B] y, float[1, 2, A, B] c) " + kConvModel +
                     "{ c = Conv (x, w) y = Relu (c) }"),
            "");
  EXPECT_EQ(absorbed(kImage + "{ c = Sigmoid (x) y = Relu (c) }"), "");
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = Sigmoid (c) }"), "");
}

TEST(AbsorbAnnotatedTest, OptionsSwitchPairsOff) {
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = Relu (c) }", {"RemoveQDQConvRelu=false"}), "");
  EXPECT_EQ(absorbed(kImage + kConvModel + "{ c = Conv (x, w) y = Gelu (c) }"), "");
}

TEST(ResolveSharingTest, ChainsGetTheFirstProvidersParameters) {
  PassBench bench(
      "g (float[2, 3] x) => (float[3, 2] y, float[2, 3] z) <int64[2] s = {3, 2}> "
      "{ a = Sigmoid (x) b = Transpose (a) c = Reshape (b, s) y = Transpose <perm = [0, 1]> (c) z = Sigmoid (x) }");
  bench.run(select_nodes);
  EXPECT_TRUE(bench.run(mark_tensors));
  EXPECT_TRUE(bench.run(resolve_sharing));
  const auto params = [&](const char* name) { return bench.context.plan.slot(bench.value(name)).stage.params; };
  for (const char* name : {"b", "c", "y"}) EXPECT_EQ(params(name), params("a")) << name;
  EXPECT_NE(params("x"), params("a"));
  EXPECT_NE(params("z"), params("a"));
}

TEST(ResolveSharingTest, OrderOfTheMarksDoesNotMatter) {
  PassBench bench("g (float[2] x) => (float[2] y) { a = Relu (x) b = Relu (a) y = Relu (b) }");
  plan::QuantPlan& plan = bench.context.plan;
  plan = plan::QuantPlan(bench.graph().value_count());
  for (const char* name : {"y", "b", "a"}) plan.add(bench.value(name)).stage = {};  // readers first
  plan.slot(bench.value("y")).provider = bench.value("b");
  plan.slot(bench.value("b")).provider = bench.value("a");
  EXPECT_TRUE(bench.run(resolve_sharing));
  EXPECT_EQ(plan.slot(bench.value("y")).stage.params, plan.slot(bench.value("a")).stage.params);
}

TEST(ResolveSharingTest, AProviderThatIsNeverQuantizedIsAnError) {
  PassBench bench("g (float[2] x) => (float[2] y) { a = Relu (x) y = Relu (a) }");
  plan::QuantPlan& plan = bench.context.plan;
  plan = plan::QuantPlan(bench.graph().value_count());
  plan.add(bench.value("y")).stage = {};
  plan.slot(bench.value("y")).provider = bench.value("a");
  EXPECT_FALSE(pipeline::run_pass(bench.context, resolve_sharing).ok());
  plan.add(bench.value("a")).stage = {};
  plan.slot(bench.value("a")).provider = bench.value("y");  // a circle
  EXPECT_FALSE(pipeline::run_pass(bench.context, resolve_sharing).ok());
}

TEST(MarkTensorsTest, AbsorbedSlotsStayInThePlan) {
  PassBench bench(kImage + kConvModel + "{ c = Conv (x, w) y = Relu (c) }");
  for (const PassBench::Pass& pass :
       {PassBench::Pass(select_nodes), PassBench::Pass(mark_tensors), PassBench::Pass(absorb_annotated)})
    bench.run(pass);
  EXPECT_EQ(bench.context.plan.slot(bench.value("c")).state, plan::SlotState::kAbsorbed);
  EXPECT_EQ(bench.context.plan.slot(bench.value("y")).state, plan::SlotState::kPlanned);
}

TEST(SelectNodesTest, ReadersOfInfiniteScalarsStayFloat) {
  ir::Model model =
      test::model_of("g (float[2] x) => (float[2] y) <float s = {1.0}> { a = Sigmoid (x) y = Add (a, s) }");
  ir::GraphEdit(model.graph).set_constant(model.graph.find("s"), ir::Tensor::scalar(-INFINITY));
  PassBench bench(std::move(model));
  bench.run(select_nodes);
  EXPECT_TRUE(bench.context.selection.selects(bench.node("Sigmoid")));
  EXPECT_FALSE(bench.context.selection.selects(bench.node("Add")));
}

}  // namespace
}  // namespace quarkq::pass_tests
