// SPDX-License-Identifier: MIT
// Block floating point against the worked examples of ref:operators#block-floating-point, bit for bit.
#include "numeric/block_formats.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quarkq::numeric {
namespace {

using Values = std::vector<float>;

Values converted(Values x, const BfpSettings& settings) {
  convert_bfp_block(x, settings);
  return x;
}

/// The same bits; any NaN equals any other.
void expect_bits(const Values& found, const Values& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
    EXPECT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
        << "element " << i << ": " << found[i] << ", expected " << expected[i];
  }
}

BfpSettings shared(BlockRounding rounding) {
  BfpSettings settings;
  settings.rounding = rounding;
  return settings;
}
BfpSettings prime(int bit_width, BlockRounding rounding = BlockRounding::kHalfEven) {
  BfpSettings settings = shared(rounding);
  settings.method = BfpMethod::kBfpPrime;
  settings.bit_width = bit_width;
  return settings;
}

constexpr BlockRounding kAway = BlockRounding::kHalfAway, kUp = BlockRounding::kHalfUp,
                        kEven = BlockRounding::kHalfEven;

TEST(BfpTest, OneExponentForABlock) {
  const Values x = {1, 0.3f, -0.7f, 1.9999f, -1.998f, 0.004f, 0.0039f, 0.001f};
  for (const BlockRounding rounding : {kAway, kUp, kEven}) {
    expect_bits(converted(x, shared(rounding)), {1, 0.296875f, -0.703125f, 1.984375f, -1.984375f, 0, 0, 0});
  }
}

TEST(BfpTest, TiesGoAsTheRoundingSays) {
  const auto scaled = [](const Values& multiples) {
    Values x = {1.0f};
    for (const float value : multiples) x.push_back(value / 64);
    return x;
  };
  const Values x = scaled({0.5f, -0.5f, 1.5f, -1.5f, 2.5f, -2.5f});
  expect_bits(converted(x, shared(kAway)), scaled({1, -1, 2, -2, 3, -3}));
  expect_bits(converted(x, shared(kUp)), scaled({1, -0.0f, 2, -1, 3, -2}));
  expect_bits(converted(x, shared(kEven)), scaled({0, 0, 2, -2, 2, -2}));
  expect_bits(converted({1, -0.0f, -0.001f}, shared(kEven)), {1, -0.0f, 0.0f});
  expect_bits(converted({1, -0.0f, -0.001f}, shared(kAway)), {1, -0.0f, -0.0f});
}

TEST(BfpTest, InfinityAndNanStayAndDoNotCount) {
  const Values x = {INFINITY, 0.5f / 64, NAN, 1.5f / 64, -1.5f / 64, 2.5f / 64, -INFINITY, 1};
  expect_bits(converted(x, shared(kAway)), {INFINITY, 1.0f / 64, NAN, 2.0f / 64, -2.0f / 64, 3.0f / 64, -INFINITY, 1});
}

TEST(BfpTest, RoundsToBfloat16First) {
  const Values x = {1.99609375f, 1.003f, -1.0039f, 0.3333f, 0.25f, 0.1f, 0, 1};
  BfpSettings settings;
  EXPECT_EQ(converted(x, settings)[0], 1.984375f);
  EXPECT_EQ(converted(x, settings)[3], 0.328125f);
  settings.bfloat_first = true;
  expect_bits(converted(x, settings), {2, 1, -1, 0.34375f, 0.25f, 0.09375f, 0, 1});
}

TEST(BfpTest, EndsOfTheExponentRange) {
  expect_bits(converted({1e-40f, 0, 0, 0}, {}), {9.183549615799121e-41f, 0, 0, 0});
  EXPECT_EQ(converted({3.4e38f, 0}, {})[0], 0x1p128 - 0x1p121);
}

TEST(BfpTest, CompilerExponentsGrowInsteadOfCutting) {
  BfpSettings settings;
  EXPECT_EQ(converted({1.996f, 0.5f}, settings)[0], 1.984375f);
  settings.compiler_exponents = true;
  EXPECT_EQ(converted({1.996f, 0.5f}, settings)[0], 2.0f);
  EXPECT_EQ(converted({1.98f, 0.3f}, settings)[1], 0.296875f);  // the exponent stays
}

TEST(BfpTest, SubBlocksShiftTheirExponent) {
  expect_bits(converted({1, -0.8125f, 0.40f, 0.15625f}, prime(13)), {1, -0.75f, 0.375f, 0.125f});
}

TEST(BfpTest, MicroexponentFormats) {
  const Values x = {1, 0.3f,  0.7f,   0.35f, -0.1f, 0.26f,  1.9f,     -1.9999f,
                    0, 0.06f, -0.49f, 0.51f, 3e-5f, -.125f, 0.03125f, 0.75f};
  Values mx4 = {1, 0.5f, 0.75f, 0.25f, -0.0f, 0.25f, 1.5f, -1.5f, 0, 0, -0.5f, 0.5f, 0, -0.0f, 0, 0.75f};
  expect_bits(converted(x, prime(11)), mx4);
  mx4[13] = -0.25f;
  expect_bits(converted(x, prime(11, kAway)), mx4);
  Values mx6 = {1, 0.25f,   0.6875f, 0.375f, -0.125f, 0.25f,  1.875f, -1.875f,
                0, 0.0625f, -0.5f,   0.5f,   0,       -.125f, 0,      0.75f};
  expect_bits(converted(x, prime(13)), mx6);
  mx6[14] = 0.0625f;
  expect_bits(converted(x, prime(13, kAway)), mx6);
  expect_bits(converted(x, prime(16)), {1, 0.296875f, 0.703125f, 0.3515625f, -0.1015625f, 0.2578125f, 1.90625f,
                                        -1.984375f, 0, 0.0625f, -0.4921875f, 0.5078125f, 0, -0.125f, 0.03125f, 0.75f});
}

TEST(BfpTest, OneNanSpoilsAMicroexponentBlock) {
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    for (const float value : converted({1, bad, 2, 3}, prime(16))) {
      EXPECT_EQ(std::bit_cast<uint32_t>(value), 0x7FFFFFFFu);
    }
  }
  expect_bits(converted({1e-40f, -1e-40f, 0, 0}, prime(16)), {0, -0.0f, 0, 0});  // subnormals are flushed
}

TEST(BfpTest, TwiceChangesNothing) {
  for (const BlockRounding rounding : {kAway, kUp, kEven}) {
    for (const int width : {11, 12, 13, 16, 20}) {
      for (const bool is_prime : {false, true}) {
        BfpSettings settings = prime(width, rounding);
        if (!is_prime) settings.method = BfpMethod::kBfp;
        uint32_t state = 12345;
        for (int block = 0; block < 50; ++block) {
          Values x(8);
          for (float& value : x) {
            state = state * 1664525 + 1013904223;
            value =
                std::ldexp(static_cast<float>(static_cast<int32_t>(state)) / 0x1p31f, static_cast<int>(state >> 5) % 7);
          }
          const Values once = converted(x, settings);
          expect_bits(converted(once, settings), once);
        }
      }
    }
  }
}

TEST(BfpTest, BlocksAlongAnAxis) {
  Values x(12), y(12);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1) / 7;
  convert_bfp(x.data(), y.data(), {2, 6, 1, 4}, {0, 4}, {});
  expect_bits(y, {.140625f, .2890625f, .4296875f, .5703125f, .7109375f, .859375f, 1, 1.140625f, 1.28125f, 1.421875f,
                  1.578125f, 1.71875f});
  convert_bfp(x.data(), x.data(), {1, 2, 6, 4}, {0, 6}, {});  // in place
  expect_bits(x, {.140625f, .28125f, .421875f, .578125f, .71875f, .859375f, 1, 1.140625f, 1.28125f, 1.421875f,
                  1.578125f, 1.71875f});
}

}  // namespace
}  // namespace quarkq::numeric
