// SPDX-License-Identifier: MIT
// Regions and counts on hand-drawn graphs.
#include "targets/regions.h"

#include <gtest/gtest.h>

#include <random>

#include "support/target_models.h"

namespace quarkq::targets {
namespace {

/// The plan when every operator runs except those whose output has one of these names.
RegionPlan planned(const ir::Model& model, const std::vector<std::string>& on_cpu, const config::Target& target = {}) {
  const QuantizedView view = view_of(model).value();
  const Groups groups = group_operators(view, /*as_if_quantized=*/true);
  std::vector<bool> runs(view.kinds.size(), false);
  for (const ir::NodeId id : view.operators) {
    const std::string& name = view.graph().value(view.node(id).output(0)).name;
    runs[static_cast<size_t>(id.index)] = std::find(on_cpu.begin(), on_cpu.end(), name) == on_cpu.end();
  }
  return plan_regions(view, groups, node_costs(view), std::move(runs), target);
}

constexpr const char kChain[] =
    "g (float[4] x) => (float[4] e) { a = Relu(x) b = Abs(a) c = Relu(b) d = Abs(c) e = Relu(d) }";
constexpr const char kBranches[] =
    "g (float[4] x) => (float[4] e) { a = Relu(x) b = Abs(a) c = Relu(b) d = Relu(a) e = Add(c, d) }";

TEST(RegionsTest, AChainWithNInterruptionsHasNPlusOneRegions) {
  const ir::Model model = test::model_of(kChain);
  EXPECT_EQ(planned(model, {}).counts.regions, 1u);
  EXPECT_EQ(planned(model, {"c"}).counts.regions, 2u);
  EXPECT_EQ(planned(model, {"b", "d"}).counts.regions, 3u);
  EXPECT_EQ(planned(model, {"b", "c"}).counts.regions, 2u);  // one interruption of two nodes
}

TEST(RegionsTest, EndsOnTheCpuCutNothing) {
  const ir::Model model = test::model_of(kChain);
  EXPECT_EQ(planned(model, {"a", "e"}).counts.regions, 1u);
  EXPECT_EQ(planned(model, {"a", "b", "c", "d", "e"}).counts.regions, 0u);
}

TEST(RegionsTest, ARegionIsConvex) {
  // a reaches e through b on the CPU and through d: e may not join the region of a.
  const RegionPlan plan = planned(test::model_of(kBranches), {"b"});
  ASSERT_EQ(plan.regions.size(), 2u);
  EXPECT_EQ(plan.regions[0].ops, (std::map<std::string, int>{{"Relu", 2}}));  // a and d
  EXPECT_EQ(plan.regions[1].ops, (std::map<std::string, int>{{"Relu", 1}, {"Add", 1}}));
}

TEST(RegionsTest, PartsThatAreNotConnectedAreRegionsOfTheirOwn) {
  const ir::Model model =
      test::model_of("g (float[4] x, float[4] y) => (float[4] a, float[4] b) { a = Relu(x) b = Relu(y) }");
  EXPECT_EQ(planned(model, {}).counts.regions, 2u);
}

TEST(RegionsTest, RegionsAreNumberedInExecutionOrder) {
  const RegionPlan plan = planned(test::model_of(kChain), {"c"});
  ASSERT_EQ(plan.regions.size(), 2u);
  EXPECT_EQ(plan.regions[0].first, "a");
  EXPECT_EQ(plan.regions[0].last, "b");
  EXPECT_EQ(plan.regions[1].first, "d");
}

TEST(RegionsTest, OneAnchorIsEnoughForTheModel) {
  config::Target target;
  target.cutting.anchors = {"Abs"};
  EXPECT_EQ(planned(test::model_of(kChain), {"b", "c"}, target).counts.regions, 2u);  // a; d, e
  EXPECT_EQ(planned(test::model_of(kChain), {"b", "d"}, target).counts.regions, 0u);  // no Abs is left
}

TEST(RegionsTest, WithoutAnyAnchorNothingIsPlaced) {
  config::Target target;
  target.cutting.anchors = {"Conv", "MatMul"};
  const RegionPlan plan = planned(test::model_of(kChain), {}, target);
  EXPECT_EQ(plan.counts.regions, 0u);
  EXPECT_EQ(plan.counts.cpu, 5u);
}

constexpr const char kProducts[] = R"(g (float[1, 8] x, float[8, 8] v, float[8, 2] w) => (float[1, 2] y)
  { a = MatMul(x, v) b = Abs(a) y = MatMul(b, w) })";

TEST(RegionsTest, SmallRegionsAreLeftToTheCpu) {
  config::Target target;
  target.cutting.least_macs_percent = 30;  // 64 and 16 multiply-accumulates
  const RegionPlan plan = planned(test::model_of(kProducts), {"b"}, target);
  EXPECT_EQ(plan.counts.regions, 2u);
  EXPECT_EQ(plan.counts.regions_running, 1u);
  EXPECT_EQ(plan.counts.npu, 1u);
  EXPECT_DOUBLE_EQ(plan.counts.mac_share, 64.0 / 80);
}

TEST(RegionsTest, BeyondTheMostTheSmallestAreLeftToTheCpu) {
  config::Target target;
  target.cutting.most_regions = 1;
  const RegionPlan plan = planned(test::model_of(kProducts), {"b"}, target);
  EXPECT_TRUE(plan.regions[0].is_running);
  EXPECT_FALSE(plan.regions[1].is_running);
}

TEST(RegionsTest, ShapesCutNothing) {
  const ir::Model model = test::model_of(R"(g (float[2, 4] x) => (float[4, 2] y)
    <int64[2] order = {1, 0}> { a = Relu(x) s = Shape(a) t = Gather(s, order) y = Reshape(a, t) })");
  EXPECT_EQ(planned(model, {"s", "t"}).counts.regions, 1u);
}

TEST(CountsTest, AreThoseOfTheCompilersReport) {
  test::QuantizedText text;
  const std::string first = text.pair(text.conv(text.pair("x")));
  const std::string second = text.pair(text.op(cat("Add (", text.pair(text.conv(first)), ", ", first, ")")));
  const RegionPlan plan = planned(test::model_of(text.body(second)), {});
  // 3 operators, 4 pairs, 2 DQ of weights, and a second DQ of `first` for its second reader.
  EXPECT_EQ(plan.counts.total, 3u + 2 * 4 + 2 + 1);
  EXPECT_EQ(plan.counts.qdq_cpu, 2u);  // the first Q and the last DQ
  EXPECT_EQ(plan.counts.npu, plan.counts.total - 2);
  EXPECT_EQ(plan.counts.npu_share(), 1);
}

TEST(CountsTest, AnOperatorOnTheCpuTakesItsPairsAlong) {
  test::QuantizedText text;
  const std::string conv = text.conv(text.pair("x"));
  const std::string middle = text.conv(text.pair(conv));
  const std::string last = text.conv(text.pair(middle));
  const RegionPlan plan = planned(test::model_of(text.body(text.pair(last))), {middle});
  EXPECT_EQ(plan.counts.regions, 2u);
  EXPECT_EQ(plan.counts.cpu, 1u);
  EXPECT_EQ(plan.counts.qdq_cpu, 2u + 3);  // its DQ, the DQ of its weight, its Q
}

/// A random chain of joins: node i reads two of the nodes before it.
std::string woven(uint32_t seed, size_t count) {
  std::mt19937 generator(seed);
  std::string nodes = "v0 = Relu(x)";
  for (size_t i = 1; i < count; ++i) {
    const size_t a = generator() % i, b = i - 1 - generator() % std::min<size_t>(i, 3);
    nodes += cat(" v", i, " = Add(v", a, ", v", b, ")");
  }
  return cat("g (float[4] x) => (float[4] v", count - 1, ") { ", nodes, " }");
}

class RandomRegionsTest : public ::testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomRegionsTest, ::testing::Range(1u, 25u));

/// No path leaves a region and comes back, every node that runs is in one, and the counts are those of the nodes.
TEST_P(RandomRegionsTest, AreConvexAndComplete) {
  constexpr size_t kNodes = 24;
  const ir::Model model = test::model_of(woven(GetParam(), kNodes));
  std::mt19937 generator(GetParam() + 77);
  std::vector<std::string> on_cpu;
  for (size_t i = 0; i < kNodes; ++i) {
    if (generator() % 4 == 0) on_cpu.push_back(cat("v", i));
  }
  const RegionPlan plan = planned(model, on_cpu);
  const QuantizedView view = view_of(model).value();
  size_t in_regions = 0;
  for (const TargetRegion& region : plan.regions) in_regions += region.operators;
  EXPECT_EQ(in_regions, kNodes - on_cpu.size());
  EXPECT_EQ(plan.counts.npu, kNodes - on_cpu.size());
  EXPECT_EQ(plan.counts.cpu, on_cpu.size());
  EXPECT_EQ(plan.counts.regions, plan.regions.size());
  for (size_t number = 0; number < plan.regions.size(); ++number) {
    const auto own = static_cast<int>(number);
    std::vector<bool> outside(view.kinds.size(), false);  // reached from the region through a node outside of it
    std::vector<bool> after(view.kinds.size(), false);    // reached from the region
    for (const ir::NodeId id : view.operators) {
      const auto index = static_cast<size_t>(id.index);
      const bool is_own = plan.placed.region[index] == own;
      for (const ir::NodeId source : view.sources_of(id)) {
        const auto before = static_cast<size_t>(source.index);
        outside[index] = outside[index] || outside[before];
        after[index] = after[index] || after[before];
      }
      EXPECT_FALSE(is_own && outside[index]) << "region " << number << " is left and entered again";
      if (!is_own && after[index]) outside[index] = true;
      after[index] = after[index] || is_own;
    }
  }
}

TEST_P(RandomRegionsTest, OneMoreNodeOnTheCpuTakesItFromTheNpuOnly) {
  const ir::Model model = test::model_of(woven(GetParam(), 16));
  for (const std::string name : {"v3", "v8", "v15"}) {
    const TargetCounts all = planned(model, {}).counts, without = planned(model, {name}).counts;
    EXPECT_EQ(all.npu, 16u);
    EXPECT_EQ(without.npu, 15u);
    EXPECT_EQ(without.total, all.total);
    EXPECT_LE(all.regions, without.regions) << "the whole is one region";
  }
}

}  // namespace
}  // namespace quarkq::targets
