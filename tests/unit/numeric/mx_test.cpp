// SPDX-License-Identifier: MIT
// Microscaling against the worked examples of ref:operators#microscaling, bit for bit.
#include "numeric/block_formats.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quarkq::numeric {
namespace {

using Values = std::vector<float>;

MxSettings of(std::string_view element, BlockRounding rounding = BlockRounding::kHalfEven) {
  return {find_mx_element(element), rounding};
}

Values converted_to_mx(Values x, const MxSettings& settings) {
  convert_mx_block(x, settings);
  return x;
}

void expect_mx_bits(const Values& found, const Values& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
    EXPECT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
        << "element " << i << ": " << found[i] << ", expected " << expected[i];
  }
}

TEST(MxTest, EveryElementFormat) {
  const Values x = {1,     .3f,   .7f,    .35f,    -.1f, .26f, 1.9f,   -1.9999f, 0,    .06f, -.49f,
                    .51f,  3e-5f, -.125f, .03125f, .75f, 5,    -6.5f,  7,        2.5f, 3.5f, -2.5f,
                    1.25f, 1.75f, 1.5f,   .75f,    .25f, 7.9f, -7.99f, 4.5f,     5.5f, 6.9f};
  Values e3m2 = {1,     .3125f, .75f,   .375f,   -.09375f, .25f, 2,  -2, 0,    .0625f, -.5f,
                 .5f,   0,      -.125f, .03125f, .75f,     5,    -6, 7,  2.5f, 3.5f,   -2.5f,
                 1.25f, 1.75f,  1.5f,   .75f,    .25f,     7,    -7, 4,  6,    7};
  expect_mx_bits(converted_to_mx(x, of("fp4_e2m1")),
                 {1, .5f, .5f, .5f, 0, .5f, 2, -2, 0,    0, -.5f, .5f, 0,  0, 0, 1,
                  4, -6,  6,   2,   4, -2,  1, 2,  1.5f, 1, 0,    6,   -6, 4, 6, 6});
  expect_mx_bits(
      converted_to_mx(x, of("fp6_e2m3")),
      {1, .25f,  .75f, .375f, -.125f, .25f,  1.875f, -2,    0,    .0f,  -.5f, .5f,  0,     -.125f, 0,    .75f,
       5, -6.5f, 7,    2.5f,  3.5f,   -2.5f, 1.25f,  1.75f, 1.5f, .75f, .25f, 7.5f, -7.5f, 4.5f,   5.5f, 7});
  expect_mx_bits(converted_to_mx(x, of("fp6_e3m2")), e3m2);
  expect_mx_bits(converted_to_mx(x, of("fp8_e4m3")), {1,
                                                      .3125f,
                                                      .6875f,
                                                      .34375f,
                                                      -.1015625f,
                                                      .25f,
                                                      1.875f,
                                                      -2,
                                                      0,
                                                      .05859375f,
                                                      -.5f,
                                                      .5f,
                                                      3.0517578125e-05f,
                                                      -.125f,
                                                      .03125f,
                                                      .75f,
                                                      5,
                                                      -6.5f,
                                                      7,
                                                      2.5f,
                                                      3.5f,
                                                      -2.5f,
                                                      1.25f,
                                                      1.75f,
                                                      1.5f,
                                                      .75f,
                                                      .25f,
                                                      7,
                                                      -7,
                                                      4.5f,
                                                      5.5f,
                                                      7});
  e3m2[12] = 3.0517578125e-05f;
  expect_mx_bits(converted_to_mx(x, of("fp8_e5m2")), e3m2);
  expect_mx_bits(
      converted_to_mx(x, of("int8")),
      {1, .3125f, .6875f, .375f, -.125f, .25f,  1.875f, -2,    0,    .0625f, -.5f, .5f,    0,  -.125f, 0,    .75f,
       5, -6.5f,  7,      2.5f,  3.5f,   -2.5f, 1.25f,  1.75f, 1.5f, .75f,   .25f, 7.875f, -8, 4.5f,   5.5f, 6.875f});
}

TEST(MxTest, InfinityAndNanStayAndDoNotCount) {
  expect_mx_bits(converted_to_mx({INFINITY, NAN, 1, 0.3f, -INFINITY}, of("fp4_e2m1")),
                 {INFINITY, NAN, 1, 0.25f, -INFINITY});
  expect_mx_bits(converted_to_mx({INFINITY, 1, 0.3f}, of("int8")), {INFINITY, 1, 0.296875f});
}

TEST(MxTest, SubnormalBlocks) {
  const Values x(4, 1e-40f);
  EXPECT_EQ(converted_to_mx(x, of("fp4_e2m1"))[0], 0.0f);
  EXPECT_NEAR(static_cast<double>(converted_to_mx(x, of("int8"))[0]), 9.1835e-41, 1e-45);
  EXPECT_NEAR(static_cast<double>(converted_to_mx(x, of("fp8_e4m3"))[0]), 1.03315e-40, 1e-45);
}

TEST(MxTest, OnlyIntegersFollowTheRounding) {
  const Values x = {1, 0.5f / 64, -0.5f / 64, -1.5f / 64};
  expect_mx_bits(converted_to_mx(x, of("int8", BlockRounding::kHalfAway)), {1, 1.0f / 64, -1.0f / 64, -2.0f / 64});
  expect_mx_bits(converted_to_mx(x, of("int8", BlockRounding::kHalfUp)), {1, 1.0f / 64, -0.0f, -1.0f / 64});
  expect_mx_bits(converted_to_mx(x, of("int8")), {1, 0, 0, -2.0f / 64});
  expect_mx_bits(converted_to_mx({4, -2.5f, 2.5f, -0.01f}, of("fp4_e2m1", BlockRounding::kHalfAway)), {4, -2, 2, 0});
}

TEST(MxTest, TwiceChangesNothing) {
  for (const char* element : {"fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1"}) {
    uint32_t state = 99;
    for (int block = 0; block < 100; ++block) {
      Values x(32);
      for (float& value : x) {
        state = state * 1664525 + 1013904223;
        value = static_cast<float>(static_cast<int32_t>(state)) / 0x1p28f;
      }
      const Values once = converted_to_mx(x, of(element));
      expect_mx_bits(converted_to_mx(once, of(element)), once);
    }
  }
}

// The largest value that a format rounds to its largest number, and the next float32.
TEST(MxTest, RoundsTheScaleUpWhereTheLargestValueWouldSaturate) {
  constexpr struct {
    const char* element;
    float kept, next;  // with scale 1
    float saturated, doubled;
  } kRows[] = {{"fp4_e2m1", 7, 7.0000005f, 6, 8},
               {"fp6_e2m3", 7.75f, 7.7500005f, 7.5f, 8},
               {"fp6_e3m2", 30, 30.000002f, 28, 32},
               {"fp8_e4m3", 464, 464.00003f, 448, 480},
               {"fp8_e5m2", 61440, 61440.004f, 57344, 65536}};
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.element);
    MxSettings up = of(row.element);
    up.round_scale_up = true;
    expect_mx_bits(converted_to_mx({row.kept, -row.kept}, up), {row.saturated, -row.saturated});
    expect_mx_bits(converted_to_mx({row.next, -row.next}, of(row.element)), {row.saturated, -row.saturated});
    const bool is_on_grid = row.doubled != 480;  // 464 is halfway between 448 and 480 on the doubled grid, 480 is even
    expect_mx_bits(converted_to_mx({row.next, 0}, up), {is_on_grid ? row.doubled : 480, 0});
  }
}

TEST(MxTest, RoundingUpLeavesIntegersAndTheLargestExponentAlone) {
  MxSettings up = of("int8");
  up.round_scale_up = true;
  const Values x = {127.9f, -0.6f, 3};
  expect_mx_bits(converted_to_mx(x, up), converted_to_mx(x, of("int8")));
  up = of("fp4_e2m1");
  up.round_scale_up = true;
  expect_mx_bits(converted_to_mx({0x1.fp127f, INFINITY}, up), {0x1.8p127f, INFINITY});
}

TEST(MxTest, NamesAreAList) {
  EXPECT_EQ(find_mx_element("fp5"), nullptr);
  EXPECT_EQ(mx_element_names(), "fp8_e5m2, fp8_e4m3, fp6_e3m2, fp6_e2m3, fp4_e2m1, int8");
}

}  // namespace
}  // namespace quarkq::numeric
