// SPDX-License-Identifier: MIT
#include "numeric/linear_quant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "numeric/real_numbers.h"

namespace quarkq::numeric {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr IntegerRange kInt8{-128, 127}, kUInt8{0, 255}, kInt32{-2147483648LL, 2147483647LL};

TEST(RoundingTest, TiesGoWhereTheNameSays) {
  EXPECT_EQ(round_half_even(2.5), 2.0);
  EXPECT_EQ(round_half_even(-1.5), -2.0);
  EXPECT_EQ(round_half_away(2.5), 3.0);
  EXPECT_EQ(round_half_away(-2.5), -3.0);
  EXPECT_EQ(round_half_up(-2.5), -2.0);
  EXPECT_EQ(round_half_up(2.5), 3.0);
  EXPECT_EQ(round_half_up(0.49999997f), 0.0f);
}

TEST(ReferenceTest, RoundsTiesToEvenAndAddsZeroPoint) {
  const LinearParams params{1.0f, 3, kInt8, Overflow::kLowest};
  const float x[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 1000.0f, -1000.0f};
  const int64_t expected[] = {3, 5, 5, 3, 1, 1, 127, -128};
  for (size_t i = 0; i < std::size(x); ++i) EXPECT_EQ(quantize(x[i], params), expected[i]) << x[i];
}

TEST(ReferenceTest, DividesInFloat32) {
  // 0.15f / 0.1f is exactly 1.5 in float32, not in double.
  EXPECT_EQ(quantize(0.15f, {0.1f, 0, kInt8, Overflow::kLowest}), static_cast<int64_t>(std::rint(0.15f / 0.1f)));
}

TEST(ReferenceTest, NonFiniteValuesFollowTheOverflowRule) {
  for (const float x : {kInf, 1e30f, std::numeric_limits<float>::quiet_NaN(), -kInf}) {
    EXPECT_EQ(quantize(x, {1.0f, 100, kUInt8, Overflow::kLowest}), 0) << x;
  }
  EXPECT_EQ(quantize(kInf, {1.0f, 100, kUInt8, Overflow::kSaturate}), 255);
  EXPECT_EQ(quantize(1e30f, {1.0f, 100, kUInt8, Overflow::kSaturate}), 255);
  EXPECT_EQ(quantize(-kInf, {1.0f, 100, kUInt8, Overflow::kSaturate}), 0);
  EXPECT_EQ(quantize(NAN, {1.0f, 100, kUInt8, Overflow::kSaturate}), 0);
}

TEST(ReferenceTest, HoldsInt32Exactly) {
  const LinearParams params{1.0f, 0, kInt32, Overflow::kLowest};
  EXPECT_EQ(quantize(1e10f, params), 2147483647);
  EXPECT_EQ(dequantize(2147483647, params), 2147483648.0f);
  EXPECT_EQ(quantize(-1e10f, params), -2147483648LL);
}

TEST(ReferenceTest, FakeQuantizeHasNoNegativeZero) {
  EXPECT_FALSE(std::signbit(fake_quantize(-0.1f, {1.0f, 5, kInt8, Overflow::kLowest})));
}

}  // namespace
}  // namespace quarkq::numeric
