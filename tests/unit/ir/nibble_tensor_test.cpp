// SPDX-License-Identifier: MIT
// Tensors of 4-bit integers: two elements to a byte, low half first.
#include <gtest/gtest.h>

#include <cstdint>

#include "ir/tensor.h"

namespace quarkq::ir {
namespace {

Tensor packed(ElementType type, Shape dims, const std::vector<uint8_t>& bytes) {
  Tensor tensor = Tensor::allocate(type, std::move(dims));
  EXPECT_EQ(static_cast<size_t>(tensor.bytes()), bytes.size());
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(tensor.mutable_raw()));
  return tensor;
}

TEST(NibbleTensorTest, ReadsOddCountsLowHalfFirst) {
  const std::vector<uint8_t> bytes = {0x81, 0x7f, 0x0e};
  EXPECT_EQ(to_int64(packed(ElementType::kInt4, {5}, bytes)).value(), (std::vector<int64_t>{1, -8, -1, 7, -2}));
  EXPECT_EQ(to_int64(packed(ElementType::kUInt4, {5}, bytes)).value(), (std::vector<int64_t>{1, 8, 15, 7, 14}));
  EXPECT_EQ(to_double(packed(ElementType::kInt4, {}, {0x0f})).value(), (std::vector<double>{-1}));
}

TEST(NibbleTensorTest, IgnoresTheHalfBehindTheLastElement) {
  EXPECT_EQ(to_int64(packed(ElementType::kInt4, {1}, {0xf3})).value(), (std::vector<int64_t>{3}));
}

TEST(NibbleTensorTest, ReadsEmptyTensors) {
  EXPECT_TRUE(to_int64(Tensor::allocate(ElementType::kUInt4, {0})).value().empty());
}

}  // namespace
}  // namespace quarkq::ir
