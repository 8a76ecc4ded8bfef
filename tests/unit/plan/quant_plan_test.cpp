// SPDX-License-Identifier: MIT
// QuantPlan and its pool of parameters: plain tables, but everything leans on them.
#include "plan/quant_plan.h"

#include <gtest/gtest.h>

#include "ir/edit.h"
#include "plan/stage.h"

namespace quarkq::plan {
namespace {

std::vector<int> order_of(const QuantPlan& plan) {
  std::vector<int> order;
  for (const QuantSlot& slot : plan.slots()) order.push_back(slot.value.index);
  return order;
}

TEST(ParamPoolTest, ChangesReachEveryHolderOfAnId) {
  ParamPool pool;
  const ParamId first = pool.add(), second = pool.add({{0.5f, 3}});
  EXPECT_TRUE(pool[first].empty());
  EXPECT_EQ(pool[second], (ParamList{{0.5f, 3}}));
  const ParamId shared = first;
  pool.set(shared, {{0.25f, 0}, {0.125f, 0}});
  EXPECT_EQ(pool[first].size(), 2u);
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_FALSE(ParamId{}.valid());
}

TEST(QuantPlanTest, AddsAtTheEndOnce) {
  QuantPlan plan(4);
  plan.add({2}).always_measured = true;
  plan.add({0});
  plan.add({9});  // beyond the size it was made for
  EXPECT_TRUE(plan.add({2}).always_measured);
  EXPECT_EQ(order_of(plan), (std::vector<int>{2, 0, 9}));
  EXPECT_TRUE(plan.has({9}));
  EXPECT_FALSE(plan.has({1}));
  EXPECT_FALSE(plan.has({}));
  EXPECT_FALSE(plan.has({1000}));
}

TEST(QuantPlanTest, RemoveKeepsTheOrderOfTheOthers) {
  QuantPlan plan(5);
  for (const int i : {3, 1, 4, 0}) plan.add({i}).always_measured = true;
  plan.remove({1});
  plan.remove({1});
  plan.remove({2});
  EXPECT_EQ(order_of(plan), (std::vector<int>{3, 4, 0}));
  for (const int i : {3, 4, 0}) EXPECT_EQ(plan.slot({i}).value.index, i);
  EXPECT_EQ(plan.find({1}), nullptr);
  plan.add({1});
  EXPECT_EQ(order_of(plan), (std::vector<int>{3, 4, 0, 1}));
}

TEST(QuantPlanTest, CopiesAreIndependent) {
  QuantPlan plan(2);
  plan.add({0}).stage = {StageKind::kPair, {}, plan.params.add({{1.0f, 0}}), {}};
  QuantPlan copy = plan;
  copy.params.set(copy.slot({0}).stage.params, {{2.0f, 0}});
  copy.remove({0});
  EXPECT_TRUE(plan.has({0}));
  EXPECT_EQ(plan.params[plan.slot({0}).stage.params][0].scale, 1.0f);
}

TEST(QuantPlanTest, TextHasOneLineASlot) {
  ir::Graph graph;
  ir::GraphEdit edit(graph);
  const ir::ValueId x = edit.add_value("x"), y = edit.add_value("y"),
                    w = edit.add_initializer("w", ir::Tensor::scalar(1.0f));
  QuantPlan plan(graph.value_count());
  numeric::QuantSpec spec;
  plan.add(x).stage = {StageKind::kPair, spec, plan.params.add({{0.5f, 3}}), {}};
  plan.add(y).stage = {StageKind::kPair, spec, plan.slot(x).stage.params, {}};
  plan.slot(y).provider = x;
  plan.slot(y).state = SlotState::kAbsorbed;
  plan.add(w).stage = {StageKind::kStored, spec, plan.params.add(), {}};
  plan.slot(w).role = Role::kWeight;
  EXPECT_EQ(text(plan, graph),
            "x: activation planned INT8 pair p0 scale=0.5 zero_point=3\n"
            "y: activation absorbed INT8 pair p0 scale=0.5 zero_point=3 same-as x\n"
            "w: weight planned INT8 stored p1\n");
}

TEST(DataTypesTest, ScaleKindsFollowTheMethod) {
  config::Settings settings;
  settings.formats.use_power_of2_scale = true;
  settings.ranges.calibrate_method = config::CalibrateMethod::kMinMax;
  EXPECT_EQ(activation_scale_kind(settings), numeric::ScaleKind::kFloat);
  settings.ranges.calibrate_method = config::CalibrateMethod::kMinMSE;
  EXPECT_EQ(activation_scale_kind(settings), numeric::ScaleKind::kPowerOfTwo);
  settings.formats.use_power_of2_scale = false;
  EXPECT_EQ(activation_scale_kind(settings), numeric::ScaleKind::kFloat);
  EXPECT_EQ(weight_scale_kind(settings), numeric::ScaleKind::kPowerOfTwo);  // MinMSE weights keep theirs
  settings.ranges.calibrate_method = config::CalibrateMethod::kNonOverflow;
  EXPECT_EQ(weight_scale_kind(settings), numeric::ScaleKind::kFloat);
}

}  // namespace
}  // namespace quarkq::plan
