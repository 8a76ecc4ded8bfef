// SPDX-License-Identifier: MIT
// float16 and bfloat16 against definitions in double arithmetic, and the element type table.
#include "numeric/element_type.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace quarkq {
namespace {

/// What the bits of a float16 mean, by the definition of the format.
double meaning_of_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * std::numeric_limits<double>::infinity();
  return exponent == 0 ? sign * std::ldexp(fraction, -24) : sign * std::ldexp(1024 + fraction, exponent - 25);
}

/// The float16 nearest to `value`, ties to even, found by steps of the format's grid.
uint16_t nearest_half(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::abs(value);
  if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7C00);
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));  // 2^(exponent - 10) each
  // Steps of the binade run on into the next one, as the bits do.
  return static_cast<uint16_t>(sign | ((exponent + 14) * 1024 + steps));
}

TEST(HalfTest, AllFloat16PatternsSurviveTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = float_from_float16(half);
    const double wanted = meaning_of_half(half);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(float_from_float16(float16_from_float(value)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), wanted) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(float16_from_float(value), half) << bits;
  }
}

TEST(HalfTest, MiddleOfTwoFloat16GoesToTheEvenOne) {
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {  // up to the largest finite one
    const double low = meaning_of_half(static_cast<uint16_t>(bits)),
                 high = meaning_of_half(static_cast<uint16_t>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2);  // exact
    const auto even = static_cast<uint16_t>(bits + (bits & 1));
    ASSERT_EQ(float16_from_float(middle), even) << bits;
    ASSERT_EQ(float16_from_float(-middle), even | 0x8000) << bits;
    ASSERT_EQ(float16_from_float(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(float16_from_float(std::nextafter(middle, 1e9f)), bits + 1);
  }
}

TEST(HalfTest, RandomFloatsBecomeTheNearestFloat16) {
  std::mt19937 generator(3);
  for (int i = 0; i < 300000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(generator()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(float16_from_float(value), nearest_half(value)) << value;
  }
}

TEST(HalfTest, Float16OverflowsToInfinityFrom65520) {
  EXPECT_EQ(float16_from_float(65504.0f), 0x7BFF);
  EXPECT_EQ(float16_from_float(65519.996f), 0x7BFF);
  EXPECT_EQ(float16_from_float(65520.0f), 0x7C00);
  EXPECT_EQ(float16_from_float(-1e30f), 0xFC00);
  EXPECT_EQ(float16_from_float(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_EQ(float16_from_float(-0.0f), 0x8000);
  EXPECT_EQ(float16_from_float(0x1p-25f), 0);  // tie between 0 and the smallest
  EXPECT_EQ(float16_from_float(0x1.000002p-25f), 1);
}

TEST(HalfTest, Bfloat16RoundsToNearestTiesToEven) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = float_from_bfloat16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(float_from_bfloat16(bfloat16_from_float(value)))) << bits;
      continue;
    }
    ASSERT_EQ(bfloat16_from_float(value), bits);
  }
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // tie, even below
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x3F818000u)), 0x3F82);  // tie, even above
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x3F808001u)), 0x3F81);
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(float_from_bfloat16(bfloat16_from_float(std::bit_cast<float>(0x7F800001u)))));
}

TEST(ElementTypeTest, NamesAndWireNumbersLeadBack) {
  for (int32_t wire = 1; wire <= 28; ++wire) {
    const auto type = element_type_from_wire(wire);
    ASSERT_TRUE(type.has_value()) << wire;
    EXPECT_EQ(static_cast<int32_t>(*type), wire);
    EXPECT_EQ(element_type_from_name(name(*type)), type);
  }
  EXPECT_FALSE(element_type_from_wire(0).has_value());
  EXPECT_FALSE(element_type_from_wire(29).has_value());
  EXPECT_FALSE(element_type_from_wire(-1).has_value());
  EXPECT_FALSE(element_type_from_name("FLOAT9").has_value());
  EXPECT_EQ(name(static_cast<ElementType>(99)), "UNDEFINED");
}

TEST(ElementTypeTest, KindsAndSizes) {
  EXPECT_TRUE(is_floating(ElementType::kBFloat16));
  EXPECT_TRUE(is_floating(ElementType::kFloat8E4M3Fn));
  EXPECT_FALSE(is_floating(ElementType::kInt8));
  EXPECT_TRUE(is_integer(ElementType::kUInt4));
  EXPECT_FALSE(is_integer(ElementType::kBool));
  EXPECT_FALSE(is_integer(ElementType::kString));
  EXPECT_EQ(bits(ElementType::kComplex128), 128);
  EXPECT_EQ(storage_bytes(ElementType::kInt4, 3), 2);
  EXPECT_EQ(storage_bytes(ElementType::kDouble, 3), 24);
  EXPECT_EQ(storage_bytes(ElementType::kInt8, 0), 0);
  EXPECT_EQ(storage_bytes(ElementType::kString, 5), 0);
}

}  // namespace
}  // namespace quarkq
