// SPDX-License-Identifier: MIT
// Arrays made fit for a model input.
#include "calib/data_reader.h"

#include <limits>

#include "exec/environment.h"
#include "numeric/element_type.h"
#include "unit/calib/sample_support.h"

namespace quarkq::calib {
namespace {

using ir::Shape;
using ir::Tensor;
using test::floats;
using test::input;

Result<Tensor> fit(const Tensor& tensor, const InputSpec& spec) { return fit_to_input(tensor, spec, "f.npy"); }

TEST(FitToInputTest, ShapesAreBroughtInForm) {
  EXPECT_EQ(fit(floats({12}), input("x", {1, 3, 4})).value().dims(), (Shape{1, 3, 4}));    // flat
  EXPECT_EQ(fit(floats({3, 4}), input("x", {1, 3, 4})).value().dims(), (Shape{1, 3, 4}));  // batch dimension added
  EXPECT_EQ(fit(floats({3, 4}), input("x", {-1, 3, 4})).value().dims(), (Shape{1, 3, 4}));
  EXPECT_EQ(fit(floats({5, 3, 4}), input("x", {-1, 3, 4})).value().dims(), (Shape{5, 3, 4}));
  EXPECT_EQ(fit(floats({7}), input("x", {-1})).value().dims(), (Shape{7}));
  EXPECT_EQ(fit(floats({7, 9}), {"x", ElementType::kFloat, false, {}}).value().dims(), (Shape{7, 9}));  // nothing known
}

TEST(FitToInputTest, OtherShapesAreRefused) {
  EXPECT_FALSE(fit(floats({12}), input("x", {-1, 3, 4})).ok());  // flat needs every dimension known
  EXPECT_FALSE(fit(floats({11}), input("x", {1, 3, 4})).ok());
  EXPECT_FALSE(fit(floats({4, 3}), input("x", {1, 3, 4})).ok());
  EXPECT_FALSE(fit(floats({2, 3, 4}), input("x", {1, 3, 4})).ok());
  EXPECT_FALSE(fit(floats({1, 1, 3, 4}), input("x", {1, 3, 4})).ok());
}

/// Whether an array of that shape would be read.
Status would_fit(const Shape& dims, const InputSpec& spec, ElementType type = ElementType::kFloat) {
  return check_fit(type, dims, spec, "f.npy");
}

TEST(FitToInputTest, ShapesAreKnownToFitBeforeValuesAreRead) {
  EXPECT_TRUE(would_fit({12}, input("x", {1, 3, 4})).ok());
  EXPECT_TRUE(would_fit({3, 4}, input("x", {-1, 3, 4})).ok());
  EXPECT_TRUE(would_fit({7, 9}, {"x", ElementType::kFloat, false, {}}).ok());
  EXPECT_TRUE(would_fit({0, 4}, input("x", {-1, 4})).ok());
  EXPECT_EQ(would_fit({11}, input("x", {1, 3, 4})).code(), Code::kBadData);
  QQ_EXPECT_MENTIONS(would_fit({4, 3}, input("x", {1, 3, 4})).message(), "f.npy: shape [1,4,3], input x takes [1,3,4]");
}

TEST(FitToInputTest, ArraysThatTheMachineCannotHoldAreRefusedBeforeTheyAreRead) {
  const Status refused = would_fit({1, int64_t{1} << 44}, input("x", {1, -1}));
  EXPECT_EQ(refused.code(), Code::kResource);
  QQ_EXPECT_MENTIONS(refused.message(), "f.npy: a sample of [1,17592186044416] takes 70.4 TB, more than this machine");
  EXPECT_EQ(would_fit({int64_t{1} << 49}, input("x", {-1})).code(), Code::kResource);  // more than any shape may have
}

TEST(FitToInputTest, ConversionsCountAsMemory) {
  const auto bytes = static_cast<int64_t>(exec::allowed_memory(0));
  const Shape half{bytes / 2};  // of bytes: eight more for each while they become floats
  EXPECT_TRUE(would_fit(half, input("x", {-1}, ElementType::kUInt8), ElementType::kUInt8).ok());
  EXPECT_EQ(would_fit(half, input("x", {-1}), ElementType::kUInt8).code(), Code::kResource);
}

TEST(FitToInputTest, KindsAreKeptAndWidthsConverted) {
  const Tensor doubles = Tensor::from<double>({2}, std::vector<double>{0.1, -2});
  EXPECT_EQ(fit(doubles, input("x", {2})).value().data<float>()[0], 0.1f);
  EXPECT_EQ(fit(doubles, input("x", {2}, ElementType::kFloat16)).value().data<uint16_t>()[1], float16_from_float(-2));
  EXPECT_EQ(fit(floats({2}), input("x", {2}, ElementType::kDouble)).value().data<double>()[1], 1.0);
  const Tensor ints = Tensor::from<int64_t>({2}, std::vector<int64_t>{-1, 200});
  EXPECT_EQ(fit(ints, input("x", {2}, ElementType::kInt32)).value().data<int32_t>()[0], -1);
  QQ_EXPECT_MENTIONS(fit(ints, input("x", {2}, ElementType::kInt8)).status().message(),
                     "f.npy: value 200 does not fit");
  QQ_EXPECT_MENTIONS(fit(ints, input("x", {2}, ElementType::kUInt8)).status().message(),
                     "f.npy: value -1 does not fit");
  for (const ElementType type : {ElementType::kInt64, ElementType::kUInt8, ElementType::kBool, ElementType::kString}) {
    EXPECT_FALSE(fit(floats({2}), input("x", {2}, type)).ok()) << name(type);
  }
  const Tensor large = Tensor::from<uint64_t>({1}, std::vector<uint64_t>{~uint64_t{0}});
  QQ_EXPECT_MENTIONS(fit(large, input("x", {1}, ElementType::kInt64)).status().message(), "value above 2^63");
}

TEST(FitToInputTest, IntegersForFloatsAreTheSameNumbers) {
  const Tensor bytes = Tensor::from<uint8_t>({3}, std::vector<uint8_t>{0, 127, 255});
  for (const ElementType type :
       {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16}) {
    const Result<Tensor> cast = fit(bytes, input("x", {3}, type));
    ASSERT_TRUE(cast.ok()) << cast.status().message();
    EXPECT_EQ(cast.value().type(), type);
    EXPECT_EQ(ir::to_double(cast.value()).value(), (std::vector<double>{0, 127, 255}));
  }
  const Tensor wide = Tensor::from<int64_t>({2}, std::vector<int64_t>{-16777216, 16777217});
  QQ_EXPECT_MENTIONS(fit(wide, input("x", {2})).status().message(),
                     "f.npy: value 16777217 does not fit the input's type FLOAT");
  EXPECT_TRUE(fit(wide, input("x", {2}, ElementType::kDouble)).ok());
  const Tensor large = Tensor::from<int32_t>({1}, std::vector<int32_t>{70000});
  QQ_EXPECT_MENTIONS(fit(large, input("x", {1}, ElementType::kFloat16)).status().message(), "value 70000 does not fit");
}

template <typename T>
void expect_integer_limits() {
  const ElementType type = element_type_of<T>();
  constexpr int64_t kLow = std::is_signed_v<T> ? INT64_MIN >> (64 - 8 * sizeof(T)) : 0;
  constexpr auto kHigh = static_cast<int64_t>(std::min<uint64_t>(std::numeric_limits<T>::max(), INT64_MAX));
  const auto fitted = [&](int64_t value) {
    return fit(Tensor::from<int64_t>({1}, std::vector<int64_t>{value}), input("x", {1}, type));
  };
  for (const int64_t value : {kLow, kHigh, int64_t{0}, int64_t{1}}) {
    const Result<Tensor> found = fitted(value);
    ASSERT_TRUE(found.ok()) << name(type) << ": " << found.status().message();
    EXPECT_EQ(found.value().type(), type);
    EXPECT_EQ(found.value().template data<T>()[0], static_cast<T>(value));
  }
  if constexpr (kLow != INT64_MIN) {
    EXPECT_EQ(fitted(kLow - 1).status().code(), Code::kBadData) << name(type);
  }
  if constexpr (kHigh != INT64_MAX) {
    QQ_EXPECT_MENTIONS(fitted(kHigh + 1).status().message(),
                       cat("f.npy: value ", kHigh + 1, " does not fit the input's type ", name(type)));
  }
}

TEST(FitToInputTest, IntegersOfEveryWidthKeepTheirLimits) {
  expect_integer_limits<int8_t>();
  expect_integer_limits<uint8_t>();
  expect_integer_limits<int16_t>();
  expect_integer_limits<uint16_t>();
  expect_integer_limits<int32_t>();
  expect_integer_limits<uint32_t>();
  expect_integer_limits<int64_t>();
  expect_integer_limits<uint64_t>();
}

TEST(FitToInputTest, BoolsBecomeZeroAndOne) {
  Tensor odd = Tensor::zeros(ElementType::kBool, {3});
  odd.mutable_data<uint8_t>()[1] = 1;
  odd.mutable_data<uint8_t>()[2] = 77;
  const Tensor bools = fit(odd, input("x", {3}, ElementType::kBool)).value();
  EXPECT_EQ(bools.data<uint8_t>()[2], 1);
  EXPECT_EQ(fit(odd, input("x", {3})).value().data<float>()[2], 1.0f);
}

}  // namespace
}  // namespace quarkq::calib
