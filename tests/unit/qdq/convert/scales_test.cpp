// SPDX-License-Identifier: MIT
// Conversions that change scales: uint16 to uint8, biases to int32, Resize to powers of two. Numbers are those of the
// definitions, worked out by hand.
#include "support/convert_bench.h"

namespace quarkq {
namespace {

using test::ConvertBench;

TEST(U16U8ToU8U8Test, StepsAre257TimesLarger) {
  for (const auto& [zero_point, narrowed] :
       std::vector<std::pair<int, int>>{{32768, 128}, {32767, 127}, {30000, 117}, {40000, 156}, {0, 0}}) {
    ConvertBench bench(cat("g (float[4] x) => (float[4] y) <float s = {0.0001}, uint16 z = {", zero_point,
                           "}> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Neg (d) }"),
                       21);
    EXPECT_EQ(bench.run("u16u8-to-u8u8"), 1U);
    EXPECT_NEAR(bench.numbers_of("QuantizeLinear", 1)[0], 0.0257, 1e-7);
    EXPECT_EQ(bench.integers("QuantizeLinear", 2), std::vector<int64_t>{narrowed}) << zero_point;
    EXPECT_EQ(bench.stored("DequantizeLinear", 2).type(), ElementType::kUInt8);
    test::expect_unchanged(bench, "u16u8-to-u8u8");
  }
}

TEST(U16U8ToU8U8Test, SharedInitializersAreNarrowedOnce) {
  ConvertBench bench(
      "g (float[4] x) => (float[4] y) <float s = {0.0001}, uint16 z = {32768}> { q = QuantizeLinear (x, s, z) "
      "d = DequantizeLinear (q, s, z) t = Neg (d) p = QuantizeLinear (t, s, z) y = DequantizeLinear (p, s, z) }",
      21);
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("u16u8-to-u8u8"), 2U);
  EXPECT_EQ(bench.graph().initializers().size(), 2U);
  test::expect_same_outputs(before, bench.model, 0.04);
}

TEST(U16U8ToU8U8Test, StoredTensorsAndBiasesFollow) {
  ConvertBench bench(
      "g (float[2, 2] x) => (float[2, 2] y) <float s = {0.0001}, uint16 z = {32768}, float ws = {0.001}, "
      "uint16 wz = {32768}, uint16[2, 2] w = {0, 65535, 32768, 33025}, float bs = {1e-7}, int32 bz = {0}, "
      "int32[2] b = {5000000, -2500000}> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) "
      "f = DequantizeLinear (w, ws, wz) c = DequantizeLinear (b, bs, bz) y = Gemm (d, f, c) }",
      21);
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("u16u8-to-u8u8"), 2U);
  test::expect_same_outputs(before, bench.model, 0.9);
  const ir::Node& gemm = bench.node("Gemm");
  const ir::Node& weights = *bench.graph().producer(gemm.input(1));
  EXPECT_EQ(ir::to_int64(*bench.graph().constant(weights.input(0))).value(), (std::vector<int64_t>{0, 255, 128, 129}));
  const ir::Node& bias = *bench.graph().producer(gemm.input(2));
  const double scale = ir::to_double(*bench.graph().constant(bias.input(1))).value()[0];
  EXPECT_NEAR(scale, 0.0257 * 0.257, 1e-6);
  // 0.5 and -0.25 in steps of 0.0066049
  EXPECT_EQ(ir::to_int64(*bench.graph().constant(bias.input(0))).value(), (std::vector<int64_t>{76, -38}));
}

TEST(U16U8ToU8U8Test, OtherWidthsStay) {
  ConvertBench bench(
      "g (float[4] x) => (float[4] y) <float s = {0.1}, uint8 z = {128}> { q = QuantizeLinear (x, s, z) "
      "d = DequantizeLinear (q, s, z) y = Neg (d) }");
  test::expect_unchanged(bench, "u16u8-to-u8u8");
}

/// A Conv whose bias has this type, scale and codes.
std::string conv_with_bias(const std::string& type, const std::string& scale, const std::string& codes,
                           const std::string& weights = "float ws = {0.5}, int8 wz = {0}") {
  return cat("g (float[1, 1, 2, 2] x) => (float[1, 2, 2, 2] y) <float s = {0.25}, int8 z = {0}, ", weights,
             ", int8[2, 1, 1, 1] w = {2, -3}, float bs = {", scale, "}, ", type, " bz = {0}, ", type, "[2] b = ", codes,
             "> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z)",
             " f = DequantizeLinear <axis = 0> (w, ws, wz) c = DequantizeLinear (b, bs, bz) y = Conv (d, f, c) }");
}

std::vector<int64_t> bias_codes(const ConvertBench& bench, size_t input = 0) {
  const ir::Node& dq = *bench.graph().producer(bench.node("Conv").input(2));
  return ir::to_int64(*bench.graph().constant(dq.input(input))).value();
}

TEST(A8w8NpuToCpuTest, BiasesInStepsOfTheProduct) {
  ConvertBench bench(conv_with_bias("int8", "0.0625", "{3, -128}"));
  test::expect_converts(bench, "a8w8-npu-to-cpu", 1, 0.07);
  // 0.1875 and -8 in steps of 0.125; ties go to even
  EXPECT_EQ(bias_codes(bench), (std::vector<int64_t>{2, -64}));
  EXPECT_EQ(bias_codes(bench, 2), std::vector<int64_t>{0});
  const ir::Node& dq = *bench.graph().producer(bench.node("Conv").input(2));
  EXPECT_EQ(bench.graph().constant(dq.input(0))->type(), ElementType::kInt32);
}

TEST(A8w8NpuToCpuTest, ScalesOfChannelsGiveScalesOfTheBias) {
  ConvertBench bench(conv_with_bias("int8", "0.5", "{3, -4}", "float[2] ws = {0.5, 4}, int8[2] wz = {0, 0}"));
  test::expect_converts(bench, "a8w8-npu-to-cpu", 1);
  EXPECT_EQ(bias_codes(bench), (std::vector<int64_t>{12, -2}));
  EXPECT_EQ(bench.graph().producer(bench.node("Conv").input(2))->int_or("axis", 9), 0);
}

TEST(A8w8NpuToCpuTest, BiasesInInt32Stay) {
  ConvertBench bench(conv_with_bias("int32", "0.125", "{3, -4}"));
  test::expect_unchanged(bench, "a8w8-npu-to-cpu");
}

TEST(A8w8NpuToCpuTest, WhatInt32CannotHoldIsLeft) {
  ConvertBench bench(conv_with_bias("int8", "1e9", "{3, -4}"));
  test::expect_unchanged(bench, "a8w8-npu-to-cpu");
  ASSERT_EQ(bench.left.size(), 1U);
  EXPECT_NE(bench.left[0].reason.find("exceeds the range of int32"), std::string::npos) << bench.left[0].reason;
  EXPECT_EQ(bench.left[0].node, "node y (Conv)");
}

std::string resize_with(const std::string& type, const std::string& scale, int zero_point) {
  return cat("g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float s = {", scale, "}, ", type, " z = {", zero_point,
             "}, float[4] k = {1, 1, 2, 2}> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z)",
             " r = Resize <mode = \"nearest\"> (d, , k) p = QuantizeLinear (r, s, z) y = DequantizeLinear (p, s, z) }");
}

TEST(ResizeScalesToPof2Test, TheSmallestThatHoldsTheRange) {
  struct Row {
    const char* type;
    const char* scale;
    int zero_point;
    double made;
    int64_t zero_made;
  };
  for (const Row& row : {Row{"int8", "0.037", 10, 0.0625, 0}, Row{"int8", "0.03", 0, 0.03125, 0},
                         Row{"uint8", "0.037", 138, 0.0625, 128}}) {
    ConvertBench bench(resize_with(row.type, row.scale, row.zero_point));
    const ir::Model before = bench.model;
    EXPECT_EQ(bench.run("resize-scales-to-pof2"), 2U) << row.scale;
    EXPECT_EQ(bench.numbers_of("QuantizeLinear", 1)[0], row.made);
    EXPECT_EQ(bench.integers("DequantizeLinear", 2), std::vector<int64_t>{row.zero_made});
    test::expect_same_outputs(before, bench.model, 0.07);
    test::expect_unchanged(bench, "resize-scales-to-pof2");
  }
}

TEST(ResizeScalesToPof2Test, PowersOfTwoAndOthersStay) {
  ConvertBench power(resize_with("int8", "0.03125", 0));
  test::expect_unchanged(power, "resize-scales-to-pof2");
  ConvertBench other(
      "g (float[4] x) => (float[4] y) <float s = {0.1}, int8 z = {0}> { q = QuantizeLinear (x, s, z) "
      "d = DequantizeLinear (q, s, z) y = Neg (d) }");
  test::expect_unchanged(other, "resize-scales-to-pof2");
}

}  // namespace
}  // namespace quarkq
