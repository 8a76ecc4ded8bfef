// SPDX-License-Identifier: MIT
// Tensors in memory and on disk.
#include "ir/tensor_store.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/run_op.h"
#include "unit/base/temp_folder.h"

namespace quarkq::ir {
namespace {

Tensor numbered(int64_t count, float first) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return Tensor::from<float>({count}, values);
}

TEST(TensorStoreTest, GivesBackWhatItKeepsAtAnyLimit) {
  for (const int64_t limit : {int64_t{0}, int64_t{1}, int64_t{100}, int64_t{4000}, int64_t{1} << 40}) {
    TensorStore store;
    ASSERT_TRUE(store.set_limit(limit).ok());
    std::map<int, Tensor> kept;
    std::mt19937 generator(7);
    for (int step = 0; step < 300; ++step) {
      if (!kept.empty() && generator() % 3 == 0) {
        const auto victim = std::next(kept.begin(), static_cast<std::ptrdiff_t>(generator() % kept.size()));
        store.drop(victim->first);
        kept.erase(victim);
        continue;
      }
      const Tensor tensor = numbered(static_cast<int64_t>(generator() % 40), static_cast<float>(step));
      const Result<int> number = store.keep(tensor);
      ASSERT_TRUE(number.ok()) << number.status().message();
      ASSERT_TRUE(kept.emplace(number.value(), tensor).second) << "a number that is in use was given out";
      EXPECT_LE(store.bytes_in_memory(), limit);
    }
    for (const auto& [number, tensor] : kept) EXPECT_TRUE(store.get(number).value().same_as(tensor)) << limit;
  }
}

TEST(TensorStoreTest, ALowerLimitMovesTensorsToTheFile) {
  TensorStore store;
  std::vector<int> numbers;
  for (int i = 0; i < 10; ++i) numbers.push_back(store.keep(numbered(100, static_cast<float>(i))).value());
  EXPECT_EQ(store.bytes_in_memory(), 4000);
  EXPECT_EQ(store.bytes_on_disk(), 0);
  ASSERT_TRUE(store.set_limit(1000).ok());
  EXPECT_LE(store.bytes_in_memory(), 1000);
  EXPECT_EQ(store.bytes_in_memory() + store.bytes_on_disk(), 4000);
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(store.get(numbers[static_cast<size_t>(i)]).value().same_as(numbered(100, static_cast<float>(i))));
}

TEST(TensorStoreTest, PlacesInTheFileAreUsedAgain) {
  TensorStore store;
  ASSERT_TRUE(store.set_limit(0).ok());
  for (int round = 0; round < 50; ++round) store.drop(store.keep(numbered(64, static_cast<float>(round))).value());
  EXPECT_EQ(store.bytes_on_disk(), 256);
}

TEST(TensorStoreTest, OtherTypesAndEmptyTensors) {
  TensorStore store;
  ASSERT_TRUE(store.set_limit(0).ok());
  for (const Tensor& tensor : {test::ints({2, 2}, {1, -2, 3, 4}), Tensor::zeros(ElementType::kFloat, {0, 3}),
                               Tensor::scalar(2.5f), test::bools({3}, {1, 0, 1})}) {
    const Tensor back = store.get(store.keep(tensor).value()).value();
    EXPECT_EQ(back.type(), tensor.type());
    EXPECT_TRUE(back.same_as(tensor));
  }
}

TEST(TensorStoreTest, AFolderThatIsNotThereIsAnError) {
  TensorStore store("/no/such/folder");
  ASSERT_TRUE(store.set_limit(0).ok());
  const Result<int> number = store.keep(numbered(4, 0));
  ASSERT_FALSE(number.ok());
  EXPECT_EQ(number.status().code(), Code::kIo);
}

}  // namespace
}  // namespace quarkq::ir
