// SPDX-License-Identifier: MIT
// The predicted order is the order written, on shared models and where values are read in unusual ways.
#include "plan/lowering/lower.h"
#include "support/npu_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// First outputs of the nodes that are no Q/DQ, in list order.
std::vector<std::string> written_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") continue;
    names.push_back(cat(id.index));
  }
  return names;
}

void expect_foretold(PassBench& bench) {
  test::fill_parameters(bench.graph(), bench.context.plan);
  const Result<std::vector<ir::NodeId>> order = plan::written_order(bench.graph(), bench.context.plan);
  ASSERT_TRUE(order.ok()) << order.status().message();
  std::vector<std::string> foretold;
  for (const ir::NodeId id : order.value()) foretold.push_back(cat(id.index));
  const plan::QuantPlan plan = bench.context.plan;
  const ir::Model model = bench.model;
  bench.run(write_qdq);
  EXPECT_EQ(written_names(bench.graph()), foretold);
  // Writing a list that has this order already leads to it again.
  bench.model = model;
  bench.context.plan = plan;
  const Result<Changed> changed = pipeline::run_pass(bench.context, order_as_written);
  ASSERT_TRUE(changed.ok());
  const Result<Changed> again = pipeline::run_pass(bench.context, order_as_written);
  EXPECT_TRUE(again.ok() && again.value() == Changed::kNo);
  bench.run(write_qdq);
  EXPECT_EQ(written_names(bench.graph()), foretold);
}

struct Case {
  std::string model, preset;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.model << "_" << c.preset; }

class WrittenOrderSharedTest : public ::testing::TestWithParam<Case> {};

TEST_P(WrittenOrderSharedTest, IsTheOrderOfTheWrittenModel) {
  for (const bool is_compat : {true, false}) {
    test::PlannedModel bench(
        GetParam().model, is_compat ? test::compat_settings(GetParam().preset) : test::settings_for(GetParam().preset));
    expect_foretold(bench);
  }
}

std::vector<Case> order_cases() {
  std::vector<Case> all;
  for (const char* preset : {"XINT8", "A8W8"}) {
    for (const std::string& model : test::models_with_stages(preset)) all.push_back({model, preset});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(SharedModels, WrittenOrderSharedTest, ::testing::ValuesIn(order_cases()),
                         [](const auto& info) { return info.param.model + "_" + info.param.preset; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WrittenOrderSharedTest);

PassBench& planned(PassBench& bench) {
  test::run_phases(bench, {"select", "mark"});
  return bench;
}

TEST(WrittenOrderTest, FollowsNamesOfStoredTensors) {
  // The Conv whose constants come first by name is ready first.
  PassBench bench(
      test::model_of("g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y, float[1, 1, 2, 2] z) "
                     "<float[1, 1, 1, 1] zw = {0.5}, float[1, 1, 1, 1] aw = {0.25}> "
                     "{ y = Conv (x, zw) z = Conv (x, aw) }"));
  expect_foretold(planned(bench));
}

TEST(WrittenOrderTest, KnowsDedicatedPairsAndAbsorbedValues) {
  PassBench bench(test::model_of("g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y, float[1, 1, 2, 2] z) "
                                 "<float[1, 1, 1, 1] w = {0.5}, float[1] b = {1}> "
                                 "{ c = Conv (x, w, b) a = Relu (c) z = Add (a, x) y = Mul (a, a) }"),
                  test::settings_for("A8W8", {"DedicatedQDQPair=true"}));
  expect_foretold(planned(bench));
}

TEST(WrittenOrderTest, TakesAnOrderThatCapturesAllow) {
  PassBench bench(test::model_of(R"(g (float[2] x, bool c) => (float[2] y) {
    s = Sigmoid (x)
    i = If (c) <then_branch = t () => (float[2] u) { u = Sigmoid (s) }, else_branch = e () => (float[2] v) { v = Relu (s) }>
    y = Add (i, x)
  })"));
  expect_foretold(planned(bench));
}

}  // namespace
}  // namespace quarkq::pass_tests
