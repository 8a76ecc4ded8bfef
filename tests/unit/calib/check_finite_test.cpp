// SPDX-License-Identifier: MIT
// NaN and infinities in samples: found in every float type, wherever they stand.
#include "calib/data_reader.h"

#include <limits>

#include "numeric/element_type.h"
#include "unit/calib/sample_support.h"

namespace quarkq::calib {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// A tensor of `type` and shape [2, 5000], `odd` at `index` and 1 elsewhere.
ir::Tensor with(ElementType type, int64_t index, float odd) {
  ir::Tensor tensor = ir::Tensor::zeros(type, {2, 5000});
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const float value = i == index ? odd : 1.0f;
    const auto k = static_cast<size_t>(i);
    if (type == ElementType::kFloat) tensor.mutable_data<float>()[k] = value;
    if (type == ElementType::kDouble) tensor.mutable_data<double>()[k] = static_cast<double>(value);
    if (type == ElementType::kFloat16) tensor.mutable_data<uint16_t>()[k] = float16_from_float(value);
    if (type == ElementType::kBFloat16) tensor.mutable_data<uint16_t>()[k] = bfloat16_from_float(value);
  }
  return tensor;
}

Status check(const ir::Tensor& tensor) {
  Sample sample;
  sample.inputs = {test::floats({3}), tensor};
  sample.files = {"a.npy", "b.npy"};
  return check_finite(sample, {test::input("a", {3}), test::input("mask", {2, 5000})});
}

TEST(CheckFiniteTest, FindsTheFirstInEveryFloatType) {
  for (const ElementType type :
       {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16}) {
    EXPECT_TRUE(check(with(type, 0, 1)).ok());
    for (const int64_t index : {0, 4095, 4096, 9999}) {
      for (const float odd : {kInf, -kInf, kNan}) {
        const Status status = check(with(type, index, odd));
        EXPECT_EQ(status.code(), Code::kBadData) << name(type) << " " << index;
        QQ_EXPECT_MENTIONS(status.message(), cat("b.npy: input mask has ", odd == odd ? "an infinity" : "a NaN",
                                                 " at [", index / 5000, ",", index % 5000, "]"));
        QQ_EXPECT_MENTIONS(status.message(), "calibration.allow_non_finite: true");
      }
    }
  }
}

TEST(CheckFiniteTest, LargestValuesAndOtherTypesPass) {
  EXPECT_TRUE(check(with(ElementType::kFloat, 5, std::numeric_limits<float>::max())).ok());
  EXPECT_TRUE(check(with(ElementType::kFloat, 5, std::numeric_limits<float>::denorm_min())).ok());
  EXPECT_TRUE(check(with(ElementType::kFloat16, 5, -65504)).ok());
  EXPECT_TRUE(check(ir::Tensor::from<int64_t>({1}, std::vector<int64_t>{-1})).ok());
  EXPECT_TRUE(check(ir::Tensor::zeros(ElementType::kFloat, {0, 3})).ok());
  EXPECT_TRUE(check(ir::Tensor::of_strings({1}, {"nan"})).ok());
}

TEST(CheckFiniteTest, SamplesWithoutFilesAreNamed) {
  Sample sample;
  sample.name = "random";
  sample.inputs = {with(ElementType::kFloat, 3, kNan)};
  QQ_EXPECT_MENTIONS(check_finite(sample, {}).message(), "sample random: input 0 has a NaN at [0,3]");
}

}  // namespace
}  // namespace quarkq::calib
