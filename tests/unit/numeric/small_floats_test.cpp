// SPDX-License-Identifier: MIT
// Small floats against ml_dtypes 0.6.0 (through onnx 1.23.2's cast rules): checksums over all codes, and over four
// floats for each of the 65536 upper halves of a float32, which hold every value of every format and every tie.
#include "numeric/small_floats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace quarkq::numeric {
namespace {

uint64_t fnv(uint64_t hash, uint64_t byte) { return (hash ^ byte) * 0x100000001b3u; }
constexpr uint64_t kFnvStart = 0xcbf29ce484222325u;

uint64_t hash_of_values(ElementType type) {
  uint64_t hash = kFnvStart;
  for (uint32_t code = 0; code < 1u << bits(type); ++code) {
    const float value = float_from_small_float(static_cast<uint8_t>(code), type);
    const uint32_t bits = std::isnan(value) ? 0x7FC00000u : std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) hash = fnv(hash, (bits >> shift) & 255);
  }
  return hash;
}

uint64_t hash_of_codes(const SmallFloatSettings& settings) {
  std::vector<float> x;
  for (uint32_t upper = 0; upper < 65536; ++upper) {
    for (const uint32_t lower : {0u, 1u, 0x8000u, 0xFFFFu}) x.push_back(std::bit_cast<float>((upper << 16) | lower));
  }
  std::vector<uint8_t> codes(x.size());
  small_floats_from_floats(x.data(), codes.data(), static_cast<int64_t>(x.size()), settings);
  uint64_t hash = kFnvStart;
  for (const uint8_t code : codes) hash = fnv(hash, code);
  return hash;
}

TEST(SmallFloatsTest, AgreesWithMlDtypes) {
  struct Row {
    ElementType type;
    uint64_t values, codes, saturated;
  };
  for (const Row& row : {Row{ElementType::kFloat8E4M3Fn, 0xdad1d9c50f749ca5, 0x837e888e23c1b0e5, 0x60080c10054fd725},
                         Row{ElementType::kFloat8E4M3FnUz, 0xf51851cb11c63018, 0x4891e00ecfdd35a5, 0xeb2973684a856925},
                         Row{ElementType::kFloat8E5M2, 0x6c1e56b6fb09c905, 0x88d79dc2e42f2325, 0x55e553de16ed00a5},
                         Row{ElementType::kFloat8E5M2FnUz, 0x94ae6fc493d49818, 0x1fbeedd6a2c514a5, 0x882cfc3f6fe9bc25},
                         Row{ElementType::kFloat4E2M1, 0x2403bb76b85dfea5, 0x539bffa69eb57825, 0x539bffa69eb57825},
                         Row{ElementType::kFloat6E2M3, 0x7ffacb24ad8b0aa5, 0x88923db0814ac4e5, 0x88923db0814ac4e5},
                         Row{ElementType::kFloat6E3M2, 0x25da13434201d785, 0x6157a092302ece25, 0x6157a092302ece25}}) {
    SCOPED_TRACE(std::string(name(row.type)));
    EXPECT_EQ(hash_of_values(row.type), row.values);
    EXPECT_EQ(hash_of_codes({row.type, /*saturate=*/false}), row.codes);
    EXPECT_EQ(hash_of_codes({row.type, /*saturate=*/true}), row.saturated);
  }
}

/// From the table in the operator's text; ml_dtypes knows one rounding only.
TEST(SmallFloatsTest, PowersOfTwoRoundAsAsked) {
  struct Row {
    PowerRounding rounding;
    uint64_t saturated, codes;
  };
  EXPECT_EQ(hash_of_values(ElementType::kFloat8E8M0), 0x6d2c8b41c3f0e5a5u);
  for (const Row& row : {Row{PowerRounding::kUp, 0x9772c2dd62498225, 0x4c76fdb18346d7da},
                         Row{PowerRounding::kDown, 0xcd68ebd6c7ea11db, 0x2fb3a3cef181ec25},
                         Row{PowerRounding::kNearest, 0xd3d55970769fb05b, 0xd5e28aaead0e64a5}}) {
    EXPECT_EQ(hash_of_codes({ElementType::kFloat8E8M0, /*saturate=*/true, row.rounding}), row.saturated);
    EXPECT_EQ(hash_of_codes({ElementType::kFloat8E8M0, /*saturate=*/false, row.rounding}), row.codes);
  }
  EXPECT_FALSE(power_rounding_from_name("even").has_value());
}

TEST(SmallFloatsTest, EveryCodeSurvives) {
  for (const ElementType type : {ElementType::kFloat8E4M3Fn, ElementType::kFloat8E4M3FnUz, ElementType::kFloat8E5M2,
                                 ElementType::kFloat8E5M2FnUz, ElementType::kFloat4E2M1, ElementType::kFloat6E2M3,
                                 ElementType::kFloat6E3M2, ElementType::kFloat8E8M0}) {
    for (uint32_t code = 0; code < 1u << bits(type); ++code) {
      const float value = float_from_small_float(static_cast<uint8_t>(code), type);
      if (std::isnan(value)) continue;
      EXPECT_EQ(small_float_from_float(value, {type, /*saturate=*/false}), code) << name(type);
    }
  }
}

TEST(SmallFloatsTest, FourBitsPackAndUnpack) {
  const std::vector<uint8_t> codes = {1, 0xF, 8, 7, 0x3A};  // only the low half of the last one counts
  std::vector<uint8_t> packed(3, 0xFF);
  pack_codes(codes.data(), packed.data(), 5, 4);
  EXPECT_EQ(packed, (std::vector<uint8_t>{0xF1, 0x78, 0x0A}));
  std::vector<uint8_t> back(4);
  unpack_codes(packed.data(), 1, 4, 4, back.data());
  EXPECT_EQ(back, (std::vector<uint8_t>{0xF, 8, 7, 0xA}));
  std::vector<int8_t> values(5);
  unpack_integers(packed.data(), 0, 5, 4, values.data());
  EXPECT_EQ(values, (std::vector<int8_t>{1, -1, -8, 7, -6}));
}

TEST(SmallFloatsTest, TwoBitsPackAndUnpack) {
  const std::vector<uint8_t> codes = {1, 2, 3, 0, 6};  // only the low two bits of the last one count
  std::vector<uint8_t> packed(2, 0xFF);
  pack_codes(codes.data(), packed.data(), 5, 2);
  EXPECT_EQ(packed, (std::vector<uint8_t>{0x39, 0x02}));
  std::vector<int8_t> values(4);
  unpack_integers(packed.data(), 1, 4, 2, values.data());
  EXPECT_EQ(values, (std::vector<int8_t>{-2, -1, 0, -2}));
}

/// The layout of four elements in three bytes is that of onnx.proto, TensorProto.raw_data.
TEST(SmallFloatsTest, SixBitsPackAndUnpack) {
  const std::vector<uint8_t> codes = {0x01, 0x3F, 0x20, 0x15, 0x2A};
  std::vector<uint8_t> packed(4, 0xFF);
  pack_codes(codes.data(), packed.data(), 5, 6);
  EXPECT_EQ(packed, (std::vector<uint8_t>{0x01 | (3 << 6), 0x0F, 0x02 | (0x15 << 2), 0x2A}));
  std::vector<uint8_t> back(4);
  unpack_codes(packed.data(), 1, 4, 6, back.data());
  EXPECT_EQ(back, (std::vector<uint8_t>{0x3F, 0x20, 0x15, 0x2A}));
}

TEST(SmallFloatsTest, RoundsDoublesOnce) {
  // Just above the tie between 1 and 1.125: rounding to float32 first would land on the tie and then on 1.
  const double x = 1.0625 + 0x1p-40;
  EXPECT_EQ(float_from_small_float(small_float_from_float(float_rounded_to_odd(x), {ElementType::kFloat8E4M3Fn}),
                                   ElementType::kFloat8E4M3Fn),
            1.125f);
  EXPECT_EQ(float_rounded_to_odd(0.5), 0.5f);
  EXPECT_EQ(float_rounded_to_odd(-1.0 - 0x1p-30), -1.0f - 0x1p-23f);
  EXPECT_EQ(float_rounded_to_odd(1e300), std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isnan(float_rounded_to_odd(NAN)));
  EXPECT_EQ(float_rounded_to_odd(INFINITY), INFINITY);
}

}  // namespace
}  // namespace quarkq::numeric
