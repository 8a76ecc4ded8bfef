// SPDX-License-Identifier: MIT
#include "pipeline/rescue/remedies.h"

#include <gtest/gtest.h>

#include <map>

namespace quarkq::pipeline {
namespace {

std::vector<ir::NodeId> numbered_nodes(int32_t count) {
  std::vector<ir::NodeId> nodes;
  nodes.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) nodes.push_back(ir::NodeId{i});
  return nodes;
}

/// Additive noise of single nodes, and how often it was asked for.
struct Noise {
  std::map<int32_t, double> of_node;
  size_t trials = 0;

  Result<double> operator()(const std::vector<ir::NodeId>& nodes) {
    ++trials;
    double sum = 0;
    for (const ir::NodeId id : nodes) {
      const auto found = of_node.find(id.index);
      sum += found == of_node.end() ? 1e-6 : found->second;
    }
    return sum;
  }
};

TEST(RescueSearchTest, FindsTheNoisiestNodesInFewTrials) {
  Noise noise{{{17, 3.0}, {311, 5.0}, {312, 1.0}, {399, 0.5}}};
  const auto ranked = rank_by_noise(numbered_nodes(400), std::ref(noise), {});
  ASSERT_TRUE(ranked.ok());
  EXPECT_LE(noise.trials, 40u);
  ASSERT_EQ(ranked.value().size(), 400u);
  const int32_t wanted[] = {311, 17, 312, 399};
  for (size_t i = 0; i < std::size(wanted); ++i) EXPECT_EQ(ranked.value()[i].node.index, wanted[i]) << i;
  EXPECT_NEAR(ranked.value()[0].noise, 5.0, 1e-3);
  EXPECT_LE(ranked.value()[399].noise, 1e-4);
}

TEST(RescueSearchTest, StopsWhereLittleNoiseIsLeft) {
  Noise noise{{{5, 1.0}}};
  ASSERT_TRUE(rank_by_noise(numbered_nodes(64), std::ref(noise), {}).ok());
  EXPECT_LE(noise.trials, 16u + 2);  // 16 parts of four nodes, two of them divided
}

TEST(RescueSearchTest, HalvesWhoseErrorsCancelAreBothMeasured) {
  const auto noise = [](const std::vector<ir::NodeId>& nodes) -> Result<double> {
    const bool has_both =
        std::ranges::count_if(nodes, [](ir::NodeId id) { return id.index == 3 || id.index == 4; }) == 2;
    if (has_both) return 0.1;
    for (const ir::NodeId id : nodes)
      if (id.index == 3 || id.index == 4) return 2.0;
    return 0.0;
  };
  const auto ranked = rank_by_noise(numbered_nodes(8), noise, {.first_parts = 1});
  ASSERT_TRUE(ranked.ok());
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(ranked.value()[i].noise, 2.0) << i;
}

TEST(RescueSearchTest, EveryNodeIsRankedOnceWhateverTheLimits) {
  for (const size_t trials : {0u, 1u, 16u, 20u, 1000u}) {
    for (const int32_t count : {0, 1, 3, 16, 50}) {
      Noise noise;
      const auto ranked = rank_by_noise(numbered_nodes(count), std::ref(noise), {.trials = trials});
      ASSERT_TRUE(ranked.ok());
      std::map<int32_t, int> seen;
      for (const NoisyNode& one : ranked.value()) ++seen[one.node.index];
      EXPECT_EQ(seen.size(), static_cast<size_t>(count)) << trials;
    }
  }
}

TEST(RescueSearchTest, FailsAsATrialFails) {
  const PartNoise broken = [](const std::vector<ir::NodeId>&) -> Result<double> { return unsupported("no kernel"); };
  const auto ranked = rank_by_noise(numbered_nodes(3), broken, {});
  ASSERT_FALSE(ranked.ok());
  EXPECT_EQ(ranked.status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace quarkq::pipeline
