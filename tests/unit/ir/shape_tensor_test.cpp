// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "ir/shape.h"
#include "ir/tensor.h"

namespace quarkq::ir {
namespace {

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(element_count({}).value(), 1);
  EXPECT_EQ(element_count({2, 0, 3}).value(), 0);
  EXPECT_EQ(element_count({2, 3, 4}).value(), 24);
  EXPECT_EQ(element_count({int64_t{1} << 48}).value(), int64_t{1} << 48);
  EXPECT_FALSE(element_count({int64_t{1} << 48, 2}).ok());
  EXPECT_FALSE(element_count({int64_t{1} << 62, int64_t{1} << 62}).ok());
  EXPECT_FALSE(element_count({-1}).ok());
  EXPECT_FALSE(element_count({0, -1}).ok());
}

TEST(ShapeTest, Broadcasts) {
  EXPECT_EQ(broadcast({2, 1, 3}, {4, 1}).value(), (Shape{2, 4, 3}));
  EXPECT_EQ(broadcast({}, {5}).value(), Shape{5});
  EXPECT_EQ(broadcast({1}, {0}).value(), Shape{0});
  EXPECT_FALSE(broadcast({2}, {3}).ok());
}

TEST(ShapeTest, NormalizesAxes) {
  EXPECT_EQ(normalize_axis(-1, 4).value(), 3);
  EXPECT_EQ(normalize_axis(0, 4).value(), 0);
  EXPECT_FALSE(normalize_axis(4, 4).ok());
  EXPECT_FALSE(normalize_axis(-5, 4).ok());
  EXPECT_FALSE(normalize_axis(0, 0).ok());
}

TEST(TensorTest, ClonesBeforeWritingForeignMemory) {
  const auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  Tensor tensor = Tensor::adopt(ElementType::kFloat, {2}, owner, reinterpret_cast<const std::byte*>(owner->data()));
  tensor.mutable_data<float>()[0] = 9;
  EXPECT_EQ((*owner)[0], 1.0f);
  EXPECT_EQ(tensor.data<float>()[0], 9.0f);
}

TEST(TensorTest, CountsTheBytesOfPackedTypes) {
  EXPECT_EQ(Tensor::zeros(ElementType::kInt4, {3}).bytes(), 2);
  EXPECT_EQ(Tensor::zeros(ElementType::kUInt4, {0}).bytes(), 0);
  EXPECT_EQ(Tensor::zeros(ElementType::kComplex128, {2}).bytes(), 32);
}

TEST(TensorTest, ReadsNumbersOfAnyType) {
  EXPECT_EQ(to_int64(Tensor::from<int32_t>({2}, std::vector<int32_t>{-1, 7})).value(), (std::vector<int64_t>{-1, 7}));
  EXPECT_EQ(to_double(Tensor::scalar(0.5f)).value(), std::vector<double>{0.5});
  Tensor half = Tensor::zeros(ElementType::kFloat16, {1});
  half.mutable_data<uint16_t>()[0] = 0x3C00;
  EXPECT_EQ(to_double(half).value(), std::vector<double>{1.0});
  EXPECT_FALSE(to_double(Tensor::of_strings({1}, {"1"})).ok());
}

TEST(TensorTest, ComparesTypeShapeAndBytes) {
  const Tensor a = Tensor::from<float>({2}, std::vector<float>{1, 2});
  EXPECT_TRUE(a.same_as(Tensor::from<float>({2}, std::vector<float>{1, 2})));
  EXPECT_FALSE(a.same_as(Tensor::from<float>({2, 1}, std::vector<float>{1, 2})));
  EXPECT_FALSE(a.same_as(Tensor::from<float>({2}, std::vector<float>{1, 3})));
  EXPECT_TRUE(Tensor::of_strings({1}, {"a"}).same_as(Tensor::of_strings({1}, {"a"})));
}

}  // namespace
}  // namespace quarkq::ir
