// SPDX-License-Identifier: MIT
#include "exec/buffer_planner.h"

#include <gtest/gtest.h>

namespace quarkq::exec {
namespace {

/// A program of kernels that do nothing.
struct Buffers {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<Tap> taps;
  std::vector<int> fetches;
  std::vector<InPlace> in_place;

  int add(int64_t bytes) {
    slots.push_back({bytes});
    return static_cast<int>(slots.size()) - 1;
  }
  void run(std::vector<int> inputs, std::vector<int> outputs) {
    steps.push_back({nullptr, std::move(inputs), std::move(outputs), ""});
  }
  void tap(int slot, int after) { taps.push_back({{}, slot, after, {}}); }
  BufferPlan plan(const ValueLimit& limit = {}) const {
    BufferRequest request{slots, steps, taps, fetches, {}, in_place, limit};
    for (const int slot : fetches)
      request.result_bytes.push_back(slot < 0 ? 0 : slots[static_cast<size_t>(slot)].bytes);
    return plan_buffers(request);
  }
};

using Slots = std::vector<std::vector<int>>;

/// x -> a -> b -> c, of 64 bytes each; x is the caller's.
Buffers chain() {
  Buffers buffers;
  const int x = buffers.add(64), a = buffers.add(64), b = buffers.add(64), c = buffers.add(64);
  buffers.slots[0].is_feed = true;
  buffers.run({x}, {a});
  buffers.run({a}, {b});
  buffers.run({b}, {c});
  buffers.fetches = {c};
  return buffers;
}

TEST(BufferPlannerTest, FetchedValuesAreComputedIntoTheirResult) {
  const BufferPlan plan = chain().plan();
  EXPECT_EQ(plan.result_slots, (Slots{{3}}));
  EXPECT_EQ(plan.piece_slots, (Slots{{1}, {2}}));
  EXPECT_EQ(plan.memory.total, 128u);
}

TEST(BufferPlannerTest, OneBufferCannotBeTwoResults) {
  Buffers buffers = chain();
  buffers.fetches = {3, 3, -1};
  EXPECT_EQ(buffers.plan().result_slots, (Slots{{3}, {}, {}}));
}

TEST(BufferPlannerTest, InPlaceStepsShareABuffer) {
  Buffers buffers = chain();
  buffers.in_place = {{1, 2, 1}, {2, 3, 2}};
  const BufferPlan plan = buffers.plan();
  EXPECT_EQ(plan.result_slots, (Slots{{1, 2, 3}})) << "all in the memory of the result";
  EXPECT_TRUE(plan.pieces.empty());
  buffers.fetches.clear();
  EXPECT_EQ(buffers.plan().piece_slots, (Slots{{1, 2, 3}}));
}

TEST(BufferPlannerTest, ValuesThatAreReadLaterAreNotOverwritten) {
  Buffers buffers = chain();
  buffers.in_place = {{1, 2, 1}};
  buffers.run({1}, {buffers.add(64)});
  EXPECT_EQ(buffers.plan().piece_slots, (Slots{{1}, {2}, {4}}));
}

TEST(BufferPlannerTest, ValuesThatAreObservedLateAreNotOverwritten) {
  Buffers buffers = chain();
  buffers.in_place = {{1, 2, 1}};
  buffers.tap(1, 1);
  EXPECT_EQ(buffers.plan().piece_slots, (Slots{{1}, {2}}));
}

TEST(BufferPlannerTest, StepsThatReadAValueTwiceDoNotOverwriteIt) {
  Buffers buffers = chain();
  buffers.steps[1].inputs = {1, 0, 1};
  buffers.in_place = {{1, 2, 1}};
  EXPECT_EQ(buffers.plan().piece_slots, (Slots{{1}, {2}}));
}

TEST(BufferPlannerTest, FeedsAndConstantsAreNotOverwritten) {
  Buffers buffers = chain();
  buffers.in_place = {{0, 1, 0}};
  EXPECT_EQ(buffers.plan().piece_slots, (Slots{{1}, {2}}));
  buffers.slots[0] = {64, ir::Tensor::zeros(ElementType::kFloat, {16})};
  EXPECT_EQ(buffers.plan().piece_slots, (Slots{{1}, {2}}));
}

TEST(BufferPlannerTest, UnderALimitABufferLeavesMemoryBetweenItsUses) {
  Buffers buffers = chain();
  buffers.run({3, 1}, {buffers.add(64)});  // a is read once more
  buffers.fetches = {4};
  EXPECT_EQ(buffers.plan().pieces.size(), 3u);
  const BufferPlan plan = buffers.plan({.bytes = 128, .least_spilled = 1});
  EXPECT_EQ(plan.pieces.size(), 4u);
  EXPECT_EQ(plan.memory.total, 128u);
}

}  // namespace
}  // namespace quarkq::exec
