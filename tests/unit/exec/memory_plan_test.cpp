// SPDX-License-Identifier: MIT
#include "exec/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace quarkq::exec {
namespace {

bool overlap(size_t a, int64_t a_bytes, size_t b, int64_t b_bytes) {
  return a < b + static_cast<size_t>(b_bytes) && b < a + static_cast<size_t>(a_bytes);
}

TEST(MemoryPlanTest, KeepsLiveBuffersApart) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(random() % 40);
      lifetimes.push_back({static_cast<int64_t>(1 + random() % 5000), first, first + static_cast<int>(random() % 8)});
    }
    const MemoryPlan plan = plan_memory(lifetimes);
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % 64, 0u);
      EXPECT_LE(plan.offsets[i] + static_cast<size_t>(lifetimes[i].bytes), plan.total);
      for (size_t j = 0; j < i; ++j) {
        const bool together = lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
        if (!together) continue;
        EXPECT_FALSE(overlap(plan.offsets[i], lifetimes[i].bytes, plan.offsets[j], lifetimes[j].bytes))
            << i << " and " << j;
      }
    }
  }
}

TEST(MemoryPlanTest, ReusesMemoryOfAChain) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 100; ++i) chain.push_back({1024, i, i + 1});
  EXPECT_LE(plan_memory(chain).total, 3u * 1024u);
}

TEST(MemoryPlanTest, GivesNothingForNothing) { EXPECT_EQ(plan_memory({}).total, 0u); }

}  // namespace
}  // namespace quarkq::exec
