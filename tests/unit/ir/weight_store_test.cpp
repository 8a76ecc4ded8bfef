// SPDX-License-Identifier: MIT
// Large constants of a graph with a store: on disk, with the same values, shared by copies of the graph.
#include "ir/tensor_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "ir/constants.h"
#include "ir/edit.h"

namespace quarkq::ir {
namespace {

constexpr size_t kResident = size_t{1} << 30;

std::shared_ptr<WeightStore> temporary_store() {
  auto file = SpillFile::create(std::filesystem::temp_directory_path().string());
  return std::make_shared<WeightStore>(std::move(file).value(), kResident);
}

Tensor counted(int64_t size) {
  std::vector<float> values(static_cast<size_t>(size));
  std::iota(values.begin(), values.end(), 1.0f);
  return Tensor::from<float>({size}, values);
}

TEST(WeightStoreTest, KeepsLargeConstantsOnDisk) {
  Graph graph;
  GraphEdit edit(graph);
  edit.set_weight_store(temporary_store());
  const Tensor large = counted(300000), small = counted(1000);
  const ValueId a = edit.add_initializer("large", large), b = edit.add_initializer("small", small);
  EXPECT_FALSE(graph.value(a).constant->owns_memory());
  EXPECT_TRUE(graph.value(b).constant->owns_memory());
  EXPECT_TRUE(graph.value(a).constant->same_as(large));
  EXPECT_TRUE(graph.value(b).constant->same_as(small));
  const Graph copy = graph;
  EXPECT_EQ(copy.value(a).constant->raw(), graph.value(a).constant->raw());
  EXPECT_FALSE(copy.settled(counted(300000)).owns_memory());
}

TEST(WeightStoreTest, WritingMakesACopyInMemory) {
  const auto store = temporary_store();
  const Tensor kept = store->settle(counted(300000));
  Tensor changed = kept;
  changed.mutable_data<float>()[5] = -1;
  EXPECT_TRUE(changed.owns_memory());
  EXPECT_EQ(kept.data<float>()[5], 6);
}

TEST(WeightStoreTest, WithoutAFileNothingMoves) {
  WeightStore store(nullptr, kResident);
  EXPECT_TRUE(store.settle(counted(300000)).owns_memory());
  EXPECT_TRUE(Graph().settled(counted(300000)).owns_memory());
}

TEST(FloatViewTest, ReadsFloatsInPlaceAndConvertsHalves) {
  const Tensor floats = counted(100);
  EXPECT_EQ(FloatView::of(floats).value().span().data(), floats.data<float>().data());
  const Tensor halves = store_floats(floats.data<float>(), ElementType::kFloat16, {100});
  const FloatView view = FloatView::of(halves).value();
  EXPECT_TRUE(std::ranges::equal(view.span(), floats.data<float>()));
  EXPECT_FALSE(FloatView::of(Tensor::scalar<int32_t>(1)).ok());
}

}  // namespace
}  // namespace quarkq::ir
