// SPDX-License-Identifier: MIT
#include "exec/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace quarkq::exec {
namespace {

bool overlap(size_t a, int64_t a_bytes, size_t b, int64_t b_bytes) {
  return a < b + static_cast<size_t>(b_bytes) && b < a + static_cast<size_t>(a_bytes);
}

using Planner = MemoryPlan (*)(const std::vector<Lifetime>&);

void expect_apart(Planner planner) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(random() % 40);
      lifetimes.push_back({static_cast<int64_t>(1 + random() % 5000), first, first + static_cast<int>(random() % 8)});
    }
    const MemoryPlan plan = planner(lifetimes);
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

TEST(MemoryPlanTest, KeepsLiveBuffersApart) { expect_apart(plan_memory); }

TEST(PackBySizeTest, KeepsLiveBuffersApart) { expect_apart(pack_by_size); }

/// A small buffer that lives long, between others that come and go.
TEST(PackBySizeTest, LeavesNoHolesWhereSizesAreAlike) {
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < 8; ++i) {
    lifetimes.push_back({1 << 16, 3 * i, 3 * i + 1});
    lifetimes.push_back({1 << 15, 3 * i + 1, 3 * i + 4});
    lifetimes.push_back({1 << 16, 3 * i + 2, 3 * i + 3});
  }
  size_t most = 0;
  for (int step = 0; step < 30; ++step) {
    size_t live = 0;
    for (const Lifetime& life : lifetimes)
      if (life.first <= step && step <= life.last) live += static_cast<size_t>(life.bytes);
    most = std::max(most, live);
  }
  EXPECT_LE(pack_by_size(lifetimes).total, most + (1 << 15));
}

TEST(MemoryPlanTest, ReusesMemoryOfAChain) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 100; ++i) chain.push_back({1024, i, i + 1});
  EXPECT_LE(plan_memory(chain).total, 3u * 1024u);
}

TEST(MemoryPlanTest, GivesNothingForNothing) { EXPECT_EQ(plan_memory({}).total, 0u); }

}  // namespace
}  // namespace quarkq::exec
