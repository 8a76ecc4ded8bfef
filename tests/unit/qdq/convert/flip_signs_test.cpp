// SPDX-License-Identifier: MIT
// Activations between signed and unsigned integers: codes and zero points move together, values stay.
#include "support/convert_bench.h"

namespace quarkq {
namespace {

using test::ConvertBench;

struct FlipCase {
  const char* step;
  const char* back;
  const char* type;
  int opset;
  int zero_point, flipped;
  ElementType made;
};

void PrintTo(const FlipCase& row, std::ostream* out) { *out << row.step << " of " << row.zero_point; }

/// A Gemm with activations of `type` and weights of int8.
std::string gemm_of(const std::string& type, int zero_point) {
  return cat("g (float[2, 3] x) => (float[2, 3] y) <float s = {0.02}, ", type, " z = {", zero_point,
             "}, float ws = {0.1}, int8 wz = {0}, int8[3, 3] w = {1, -2, 3, 4, 5, -6, 7, 8, -128}> {",
             " q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) f = DequantizeLinear (w, ws, wz)",
             " g = Gemm (d, f) p = QuantizeLinear (g, s, z) y = DequantizeLinear (p, s, z) }");
}

class FlipSigns : public testing::TestWithParam<FlipCase> {};

TEST_P(FlipSigns, ValuesStay) {
  const FlipCase& row = GetParam();
  ConvertBench bench(gemm_of(row.type, row.zero_point), row.opset);
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run(row.step), 2U);
  test::expect_same_outputs(before, bench.model, 0);
  EXPECT_EQ(bench.stored("QuantizeLinear", 2).type(), row.made);
  EXPECT_EQ(bench.integers("QuantizeLinear", 2), std::vector<int64_t>{row.flipped});
  EXPECT_EQ(bench.type_of("q"), row.made);
  test::expect_unchanged(bench, row.step);
}

TEST_P(FlipSigns, WeightsKeepTheirType) {
  const FlipCase& row = GetParam();
  ConvertBench bench(gemm_of(row.type, row.zero_point), row.opset);
  bench.run(row.step);
  const ir::Tensor* weights = bench.graph().constant(bench.graph().find("w"));
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->type(), ElementType::kInt8);
  EXPECT_EQ(bench.graph().constant(bench.graph().find("wz"))->type(), ElementType::kInt8);
}

TEST_P(FlipSigns, BackIsWhereItCameFrom) {
  const FlipCase& row = GetParam();
  ConvertBench bench(gemm_of(row.type, row.zero_point), row.opset);
  const ir::Model before = bench.model;
  bench.run(row.step);
  EXPECT_EQ(bench.run(row.back), 2U);
  EXPECT_EQ(bench.integers("QuantizeLinear", 2), std::vector<int64_t>{row.zero_point});
  test::expect_same_outputs(before, bench.model, 0);
}

using enum ElementType;
INSTANTIATE_TEST_SUITE_P(Types, FlipSigns,
                         testing::Values(FlipCase{"s8s8-to-u8s8", "u8s8-to-s8s8", "int8", 17, 0, 128, kUInt8},
                                         FlipCase{"s8s8-to-u8s8", "u8s8-to-s8s8", "int8", 17, -128, 0, kUInt8},
                                         FlipCase{"s8s8-to-u8s8", "u8s8-to-s8s8", "int8", 17, 127, 255, kUInt8},
                                         FlipCase{"u8s8-to-s8s8", "s8s8-to-u8s8", "uint8", 17, 128, 0, kInt8},
                                         FlipCase{"u8s8-to-s8s8", "s8s8-to-u8s8", "uint8", 17, 3, -125, kInt8},
                                         FlipCase{"u16s8-to-s16s8", "s16s8-to-u16s8", "uint16", 21, 32768, 0, kInt16},
                                         FlipCase{"u16s8-to-s16s8", "s16s8-to-u16s8", "uint16", 21, 32767, -1, kInt16},
                                         FlipCase{"s16s8-to-u16s8", "u16s8-to-s16s8", "int16", 21, 0, 32768, kUInt16}));

TEST(FlipSignsTest, OneInitializerForAllZeroPointsOfOneValue) {
  ConvertBench bench(gemm_of("int8", 0));
  bench.run("s8s8-to-u8s8");
  EXPECT_TRUE(bench.graph().find("uint8_zp128").valid());
  size_t unsigned_ones = 0;
  for (const ir::ValueId id : bench.graph().initializers())
    unsigned_ones += bench.graph().value(id).constant->type() == ElementType::kUInt8 ? 1 : 0;
  EXPECT_EQ(unsigned_ones, 1U);
}

TEST(FlipSignsTest, AnAbsentZeroPointIsThatOfUint8) {
  ConvertBench bench(
      "g (float[4] x) => (float[4] y) <float s = {0.02}> { q = QuantizeLinear (x, s) d = DequantizeLinear (q, s) "
      "y = Neg (d) }");
  const ir::Model before = bench.model;
  test::expect_unchanged(bench, "s8s8-to-u8s8");
  EXPECT_EQ(bench.run("u8s8-to-s8s8"), 1U);
  EXPECT_EQ(bench.integers("QuantizeLinear", 2), std::vector<int64_t>{-128});
  EXPECT_EQ(bench.integers("DequantizeLinear", 2), std::vector<int64_t>{-128});
  test::expect_same_outputs(before, bench.model, 0);
}

TEST(FlipSignsTest, ZeroPointsOfChannels) {
  ConvertBench bench(
      "g (float[2, 2] x) => (float[2, 2] y) <float[2] s = {0.02, 0.1}, int8[2] z = {0, 5}> { "
      "q = QuantizeLinear <axis = 1> (x, s, z) d = DequantizeLinear <axis = 1> (q, s, z) y = Neg (d) }");
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("s8s8-to-u8s8"), 1U);
  EXPECT_EQ(bench.integers("QuantizeLinear", 2), (std::vector<int64_t>{128, 133}));
  test::expect_same_outputs(before, bench.model, 0);
}

TEST(FlipSignsTest, IntegersThatOthersReadStay) {
  ConvertBench output(
      "g (float[4] x) => (float[4] y, int8[4] q) <float s = {0.02}, int8 z = {0}> { q = QuantizeLinear (x, s, z) "
      "d = DequantizeLinear (q, s, z) y = Neg (d) }");
  test::expect_unchanged(output, "s8s8-to-u8s8");
  ConvertBench reshaped(
      "g (float[4] x) => (float[2, 2] y) <float s = {0.02}, int8 z = {0}, int64[2] t = {2, 2}> { "
      "q = QuantizeLinear (x, s, z) r = Reshape (q, t) d = DequantizeLinear (r, s, z) y = Neg (d) }");
  test::expect_unchanged(reshaped, "s8s8-to-u8s8");
}

}  // namespace
}  // namespace quarkq
