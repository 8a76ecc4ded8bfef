// SPDX-License-Identifier: MIT
// Vectorized loops over weights against their scalar definitions, bit for bit, on every instruction set this machine
// has.
#include "numeric/encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "numeric/real_numbers.h"
#include "qdq/write/nbits_blocks.h"
#include "support/every_isa.h"

namespace quarkq::numeric {
namespace {

std::vector<float> random_weights(size_t count, uint32_t seed, bool has_special) {
  constexpr float kSpecial[] = {0.0f, -0.0f, 1e-40f, -1e-40f, 0.5f, -0.5f, 3.39e38f, -3.4e38f, 1.0f};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> values(count);
  for (float& value : values) value = has_special && random() % 8 == 0 ? kSpecial[random() % 9] : normal(random);
  return values;
}

TEST(WeightLoopsTest, ExtremesAreThoseOfTheValues) {
  for (const size_t count : {1, 2, 31, 32, 33, 1000}) {
    std::vector<float> values = random_weights(count, 7, /*has_special=*/true);
    const auto count64 = static_cast<int64_t>(count);
    const auto check = [&](auto* extremes) {
      const Extremes found = extremes(values.data(), count64);
      EXPECT_EQ(found.min, *std::ranges::min_element(values));
      EXPECT_EQ(found.max, *std::ranges::max_element(values));
      EXPECT_FALSE(found.has_nan);
    };
    QQ_ON_EVERY_ISA(extremes, check);
    values[count / 2] = NAN;
    const auto check_nan = [&](auto* extremes) { EXPECT_TRUE(extremes(values.data(), count64).has_nan) << count; };
    QQ_ON_EVERY_ISA(extremes, check_nan);
  }
}

TEST(WeightLoopsTest, ExtremesKeepInfinities) {
  using test::kInfinity;
  const float values[] = {kInfinity, -kInfinity};
  const auto check = [&](auto* extremes) {
    EXPECT_EQ(extremes(values, 1).min, kInfinity);
    EXPECT_EQ(extremes(values + 1, 1).max, -kInfinity);
  };
  QQ_ON_EVERY_ISA(extremes, check);
}

/// As the reference writes it.
float clipped_value(float value) {
  const float sign = value > 0 ? 1.0f : value < 0 ? -1.0f : 0.0f;
  return sign * std::clamp(std::abs(value), std::numeric_limits<float>::min(), 3.38953139e38f);
}

TEST(WeightLoopsTest, ClipsToBfloat16) {
  const std::vector<float> values = random_weights(10001, 3, /*has_special=*/true);
  const auto count = static_cast<int64_t>(values.size());
  std::vector<float> clipped(values.size());
  const auto check = [&](auto* clip_to_bfloat16) {
    clip_to_bfloat16(values.data(), clipped.data(), count);
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(clipped[i]), std::bit_cast<uint32_t>(clipped_value(values[i]))) << values[i];
  };
  QQ_ON_EVERY_ISA(clip_to_bfloat16, check);
  const auto check_need = [&](auto* needs_bfloat16_clip) {
    EXPECT_TRUE(needs_bfloat16_clip(values.data(), count));
    EXPECT_FALSE(needs_bfloat16_clip(clipped.data(), count)) << "it is done once";
  };
  QQ_ON_EVERY_ISA(needs_bfloat16_clip, check_need);
}

TEST(WeightLoopsTest, OneValueAtTheEndIsEnoughToClip) {
  std::vector<float> values(5000, 0.25f);
  values[1] = 0;
  bool wanted = false;
  const auto check = [&](auto* needs_bfloat16_clip) { EXPECT_EQ(needs_bfloat16_clip(values.data(), 5000), wanted); };
  QQ_ON_EVERY_ISA(needs_bfloat16_clip, check);
  wanted = true;
  for (const float unusual : {-0.0f, 1e-39f, 3.4e38f}) {
    values.back() = unusual;
    QQ_ON_EVERY_ISA(needs_bfloat16_clip, check);
  }
}

void expect_same(const qdq::PackedNBits& found, const qdq::PackedNBits& wanted) {
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  EXPECT_EQ(found.codes, wanted.codes);
  EXPECT_TRUE(std::ranges::equal(found.scales, wanted.scales, {}, bits, bits));
  EXPECT_TRUE(std::ranges::equal(found.zeros, wanted.zeros, {}, bits, bits));
}

void expect_same_blocks(const std::vector<float>& weight, const qdq::NBitsShape& shape, bool symmetric) {
  SCOPED_TRACE(testing::Message() << shape.depth << " x " << shape.columns << " by " << shape.block << ", bits "
                                  << shape.bits);
  const qdq::PackedNBits wanted = qdq::packed(qdq::round_blocks(weight, shape, symmetric), shape);
  expect_same(qdq::round_packed_blocks(weight, shape, symmetric), wanted);
  const auto check = [&](auto* round_nbits) {
    qdq::PackedNBits found{std::vector<uint8_t>(wanted.codes.size()), std::vector<float>(wanted.scales.size()),
                           std::vector<float>(wanted.zeros.size())};
    const NBitsBlocks out{found.codes.data(), found.scales.data(), found.zeros.data()};
    round_nbits({weight.data(), shape.depth, shape.columns, shape.block, symmetric, shape.bits}, 0, shape.columns, out);
    expect_same(found, wanted);
  };
  QQ_ON_EVERY_ISA(round_nbits, check);
}

TEST(WeightLoopsTest, RoundsBlocksAsTheDefinitionDoes) {
  const qdq::NBitsShape shapes[] = {{128, 64, 128}, {130, 65, 16}, {33, 300, 32},
                                    {700, 7, 512},  {1, 3, 16},    {513, 70, 256}};
  for (const qdq::NBitsShape& of_4_bits : shapes) {
    for (const auto& [bits, symmetric] :
         {std::pair(4, false), {4, true}, {2, false}, {2, true}, {3, false}, {3, true}, {8, false}, {8, true}}) {
      qdq::NBitsShape shape = of_4_bits;
      shape.bits = bits;
      const auto count = static_cast<size_t>(shape.depth * shape.columns);
      expect_same_blocks(random_weights(count, 11, /*has_special=*/false), shape, symmetric);
      expect_same_blocks(random_weights(count, 12, /*has_special=*/true), shape, symmetric);
    }
  }
}

TEST(WeightLoopsTest, RoundsHalvesAwayFromZeroInBlocks) {
  std::vector<float> halves;  // the scale is 1: -8 is the largest
  for (int i = -16; i < 16; ++i) halves.push_back(static_cast<float>(i) / 2);
  for (const float value : {std::nextafter(0.5f, 0.0f), std::nextafter(-0.5f, 0.0f)}) halves.push_back(value);
  expect_same_blocks(halves, {static_cast<int64_t>(halves.size()), 1, 64}, true);
}

TEST(WeightLoopsTest, SignsOfZerosReachTheScales) {
  for (const std::vector<float>& zeros : {std::vector<float>{0.0f, -0.0f}, std::vector<float>{-0.0f, 0.0f}}) {
    expect_same_blocks(zeros, {2, 1, 16}, true);
    expect_same_blocks(zeros, {2, 1, 16}, false);
  }
}

}  // namespace
}  // namespace quarkq::numeric
