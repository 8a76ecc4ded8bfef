// SPDX-License-Identifier: MIT
// Ranges to scales: worked numbers of ref:scales#worked-numbers, every recorded number of the reference, and the edges
// of the formulas.
#include "numeric/quant_params.h"

#include <cmath>
#include <limits>

#include "numeric/element_type.h"
#include "unit/numeric/golden_calibration.h"

namespace quarkq::numeric {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

QuantSpec spec_of(ElementType type, bool symmetric, ScaleKind scale = ScaleKind::kFloat, bool reduced = false) {
  QuantSpec spec;
  spec.type = type;
  spec.symmetric = symmetric;
  spec.scale = scale;
  spec.reduce_range = reduced;
  return spec;
}

QuantParams params(const QuantSpec& spec, Range range) {
  const Result<QuantParams> result = params_for_range(spec, range);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? result.value() : QuantParams{};
}

TEST(RangeToParamsTest, IntegerRangesAreThoseOfTheTable) {
  struct Row {
    ElementType type;
    IntegerRange full, symmetric, reduced;
  };
  const Row rows[] = {
      {ElementType::kUInt8, {0, 255}, {0, 255}, {0, 127}},
      {ElementType::kInt8, {-128, 127}, {-127, 127}, {-64, 64}},
      {ElementType::kUInt16, {0, 65535}, {0, 65535}, {0, 32767}},
      {ElementType::kInt16, {-32768, 32767}, {-32767, 32767}, {-16384, 16384}},
      {ElementType::kUInt32, {0, 4294967295}, {0, 4294967295}, {0, 2147483647}},
      {ElementType::kInt32, {-2147483648LL, 2147483647}, {-2147483647, 2147483647}, {-1073741824, 1073741824}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(integer_range(row.type, RangeKind::kFull), row.full) << name(row.type);
    EXPECT_EQ(integer_range(row.type, RangeKind::kSymmetric), row.symmetric) << name(row.type);
    EXPECT_EQ(integer_range(row.type, RangeKind::kReduced), row.reduced) << name(row.type);
  }
}

/// The width of such a range is no float16 number, its steps are.
TEST(RangeToParamsTest, HalfScalesOfWideRangesAreFinite) {
  struct Row {
    Range range;
    bool symmetric;
    float scale;
    int32_t zero_point;
  };
  const Row rows[] = {
      {{-65504, 65504}, true, 515.5f, 0},    // 131008 / 254 = 515.78, float16 numbers lie 0.5 apart there
      {{-65504, 65504}, false, 513.5f, 0},   // 131008 / 255 = 513.76
      {{0, 65504}, false, 257.0f, -128},     // 256.88, the width is a float16 number
      {{0, 1e9f}, false, 65504.0f, -128},    // beyond all float16 scales
      {{-3e38f, 3e38f}, true, 65504.0f, 0},  // the sum of its ends is infinite
  };
  for (const Row& row : rows) {
    QuantSpec spec = spec_of(ElementType::kInt8, row.symmetric);
    spec.half_scale = true;
    const QuantParams found = params(spec, row.range);
    EXPECT_NEAR(found.scale, row.scale, 0.51f) << row.range.max;
    EXPECT_EQ(found.scale, float_from_float16(float16_from_float(found.scale))) << "a float16 number";
    EXPECT_NEAR(found.zero_point, row.zero_point, 1) << row.range.max;
  }
}

TEST(RangeToParamsTest, ReducedWinsOverSymmetric) {
  EXPECT_EQ(spec_of(ElementType::kInt8, true, ScaleKind::kFloat, true).range(), (IntegerRange{-64, 64}));
  EXPECT_EQ(spec_of(ElementType::kInt8, true).range(), (IntegerRange{-127, 127}));
  EXPECT_EQ(spec_of(ElementType::kInt8, false).range(), (IntegerRange{-128, 127}));
}

TEST(RangeToParamsTest, WorkedNumbersOfTheSpec) {
  struct Row {
    ElementType type;
    bool symmetric, reduced;
    Range range;
    float scale;
    int32_t zero_point;
    int position;  ///< of the power-of-two scale
    float int16;   ///< 0: the spec has no number
  };
  const Row rows[] = {
      {ElementType::kInt8, true, false, {-1, 2}, 0.015748031437397003f, 0, 6, 0.0157470703125f},
      {ElementType::kInt8, false, false, {-1, 2}, 0.0117647061124444f, -43, 6, 0.0117645263671875f},
      {ElementType::kInt8, false, false, {0.5f, 3}, 0.0117647061124444f, -128, 6, 0},
      {ElementType::kInt8, false, false, {-0.3f, 0}, 0.0011764706578105688f, 127, 10, 0.0011749267578125f},
      {ElementType::kInt8, true, true, {-1, 2}, 0.03125f, 0, 5, 0},
      {ElementType::kUInt8, true, false, {0, 6}, 0.0470588244497776f, 128, 4, 0.04705810546875f},
      {ElementType::kUInt8, false, false, {-1, 2}, 0.0117647061124444f, 85, 6, 0},
      {ElementType::kUInt8, false, false, {0, 6}, 0.0235294122248888f, 0, 5, 0.023529052734375f},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::Message() << name(row.type) << " [" << row.range.min << ", " << row.range.max << "]");
    const auto spec = [&](ScaleKind kind) { return spec_of(row.type, row.symmetric, kind, row.reduced); };
    EXPECT_EQ(params(spec(ScaleKind::kFloat), row.range), (QuantParams{row.scale, row.zero_point}));
    EXPECT_EQ(params(spec(ScaleKind::kPowerOfTwo), row.range),
              (QuantParams{std::ldexp(1.0f, -row.position), row.zero_point}));
    if (row.int16 == 0) continue;
    EXPECT_EQ(params(spec(ScaleKind::kInt16), row.range).scale, row.int16);
  }
}

TEST(RangeToParamsTest, RangeWithoutWidthGivesOneAndZeroForEveryType) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16}) {
    for (const bool symmetric : {false, true}) {
      for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kPowerOfTwo, ScaleKind::kInt16}) {
        EXPECT_EQ(params(spec_of(type, symmetric, kind), {0, 0}), (QuantParams{1.0f, 0})) << name(type);
        EXPECT_EQ(params(spec_of(type, symmetric, kind), {-0.0f, 0}), (QuantParams{1.0f, 0})) << name(type);
      }
    }
    // Subnormal widths count as none.
    EXPECT_EQ(params(spec_of(type, false), {0, 1e-38f}), (QuantParams{1.0f, 0})) << name(type);
  }
}

TEST(RangeToParamsTest, InfiniteEndsCountAsHalfTheLargestFloat) {
  const float half = std::numeric_limits<float>::max() / 2;
  const QuantSpec spec = spec_of(ElementType::kUInt8, false);
  EXPECT_EQ(params(spec, {0, kInfinity}), params(spec, {0, half}));
  EXPECT_EQ(params(spec, {-kInfinity, 1}), params(spec, {-half, 1}));
  EXPECT_EQ(params(spec, {-kInfinity, kInfinity}), params(spec, {-half, half}));
  EXPECT_TRUE(std::isfinite(params(spec, {-kInfinity, kInfinity}).scale));
}

/// The largest magnitude becomes the format's limit. 16-bit floats have a scale only where one is asked for.
TEST(RangeToParamsTest, FloatFormatsScaleTheLargestMagnitude) {
  const std::pair<ElementType, double> limits[] = {{ElementType::kFloat8E4M3Fn, 448},
                                                   {ElementType::kFloat8E5M2, 57344},
                                                   {ElementType::kFloat16, 65504},
                                                   {ElementType::kBFloat16, 2}};
  for (const auto& [type, limit] : limits) {
    QuantSpec spec;
    spec.type = type;
    spec.scaled = true;
    for (const Range& range : {Range{-3, 2}, Range{-1, 5}, Range{0.25f, 0.5f}}) {
      const double magnitude = std::max(std::abs(range.min), std::abs(range.max));
      const QuantParams expected{static_cast<float>(magnitude / limit), 0};
      EXPECT_EQ(params_for_range(spec, range).value(), expected) << name(type) << " of " << magnitude;
    }
    EXPECT_EQ(params_for_range(spec, {0, 0}).value(), (QuantParams{1, 0})) << name(type);
    EXPECT_EQ(params_for_range(spec, {-1e-45f, 1e-45f}).value(), (QuantParams{1, 0})) << "no scale is subnormal";
    spec.scaled = false;
    const bool is_wide = type == ElementType::kFloat16 || type == ElementType::kBFloat16;
    EXPECT_EQ(params_for_range(spec, {-3, 2}).value() == (QuantParams{1, 0}), is_wide) << name(type);
  }
}

TEST(RangeToParamsTest, ZeroPointsBeyondInt32AreRefused) {
  QuantSpec spec;
  spec.type = ElementType::kUInt32;
  spec.symmetric = false;
  EXPECT_TRUE(params_for_range(spec, {-0.25f, 1}).ok());
  const Status status = params_for_range(spec, {-1, 0.25f}).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("found with UINT32, allowed is up to 2^31 - 1; use Int32"), std::string::npos)
      << status.message();
}

TEST(RangeToParamsTest, RejectsNan) {
  for (const Range range : {Range{NAN, 1}, Range{0, NAN}, Range{NAN, NAN}}) {
    const Result<QuantParams> result = params_for_range(spec_of(ElementType::kInt8, true), range);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), Code::kBadData);
  }
}

TEST(RangeToParamsTest, ZeroLiesInsideEveryGrid) {
  for (const float low : {-3.0f, -0.7f, 0.0f, 0.4f, 2.0f}) {
    for (const float width : {0.001f, 0.3f, 7.0f}) {
      for (const ElementType type :
           {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16}) {
        const QuantSpec spec = spec_of(type, false);
        const QuantParams found = params(spec, {low, low + width});
        EXPECT_GE(found.zero_point, spec.range().min);
        EXPECT_LE(found.zero_point, spec.range().max);
      }
    }
  }
}

TEST(RangeToParamsTest, PositionsRoundInLogSpaceTiesToEven) {
  EXPECT_EQ(power_of_two_position(0.0019685f), 9);
  EXPECT_EQ(power_of_two_position(0.00138f), 10);
  EXPECT_EQ(power_of_two_position(0.7071f), 1);
  EXPECT_EQ(power_of_two_position(0.70711f), 0);
  EXPECT_EQ(power_of_two_position(std::nextafter(std::exp2(-8.5f), 1.0f)), 8);  // nearest float above the tie
  for (int position = -100; position <= 100; ++position) {
    EXPECT_EQ(power_of_two_position(scale_of_position(position)), position);
  }
  EXPECT_EQ(power_of_two_position(std::numeric_limits<float>::denorm_min()), 127);  // clamped to [2^-127, 2^127]
  EXPECT_EQ(power_of_two_position(std::numeric_limits<float>::max()), -127);
  EXPECT_EQ(scale_of_position(-3), 8.0f);
}

TEST(RangeToParamsTest, Int16ScalesOfTheSpec) {
  EXPECT_EQ(int16_scale(0.0039215686f), 257.0f / 65536);
  EXPECT_EQ(int16_scale(0.1f), 3277.0f / 32768);
  EXPECT_EQ(int16_scale(0.00784f), 257.0f / 32768);
  EXPECT_EQ(int16_scale(3e-5f), 1.0f / 32768);
  EXPECT_EQ(int16_scale(2.27e-5f), 1.0f / 65536);
  EXPECT_EQ(int16_scale(1e-6f), 0x1p-14f);
  EXPECT_EQ(int16_scale(40000.0f), 0x1p-14f);
  EXPECT_EQ(int16_scale(1.5f), 1.5f);
  EXPECT_EQ(int16_scale(32767.0f), 32767.0f);
}

TEST(RangeToParamsTest, RepresentableRangeGivesItsScaleBack) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16}) {
    const QuantSpec spec = spec_of(type, true, ScaleKind::kPowerOfTwo);
    for (int position = -20; position <= 20; ++position) {
      const QuantParams before{scale_of_position(position), type == ElementType::kUInt8 ? 128 : 0};
      EXPECT_EQ(params(spec, representable_range(spec, before)), before) << name(type) << " " << position;
    }
  }
}

/// The twelve target types of the golden's scale_zp entries.
struct Target {
  const char* name;
  QuantSpec spec;
};
std::vector<Target> targets() {
  const ElementType i8 = ElementType::kInt8, u8 = ElementType::kUInt8, i16 = ElementType::kInt16,
                    u16 = ElementType::kUInt16;
  return {{"int8_sym", spec_of(i8, true)},
          {"int8_asym", spec_of(i8, false)},
          {"uint8_asym", spec_of(u8, false)},
          {"uint8_sym", spec_of(u8, true)},
          {"int16_sym", spec_of(i16, true)},
          {"uint16_asym", spec_of(u16, false)},
          {"pof2_int8_sym", spec_of(i8, true, ScaleKind::kPowerOfTwo)},
          {"pof2_int8_asym", spec_of(i8, false, ScaleKind::kPowerOfTwo)},
          {"pof2_uint8_asym", spec_of(u8, false, ScaleKind::kPowerOfTwo)},
          {"pof2_int16_sym", spec_of(i16, true, ScaleKind::kPowerOfTwo)},
          {"int16scale_int8_sym", spec_of(i8, true, ScaleKind::kInt16)},
          {"int16scale_uint8_asym", spec_of(u8, false, ScaleKind::kInt16)}};
}

TEST(RangeToParamsTest, AllRecordedScalesBitForBit) {
  QQ_SKIP_WITHOUT_GOLDEN();
  size_t compared = 0;
  for (const auto& [config, sets] : test::golden_calibration()["results"].items()) {
    for (const auto& [set, entry] : sets.items()) {
      if (!entry.contains("scale_zp")) continue;
      const Range range{test::float_of_bits(entry["range"][0]["bits"]), test::float_of_bits(entry["range"][1]["bits"])};
      for (const Target& target : targets()) {
        const test::Json& wanted = entry["scale_zp"][target.name];
        ASSERT_TRUE(wanted.is_object()) << target.name;
        const QuantParams found = params(target.spec, range);
        EXPECT_EQ(std::bit_cast<uint32_t>(found.scale),
                  std::bit_cast<uint32_t>(test::float_of_bits(wanted["scale"]["bits"])))
            << config << " " << set << " " << target.name << " " << found.scale;
        EXPECT_EQ(found.zero_point, wanted["zp"].get<int32_t>()) << config << " " << set << " " << target.name;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 5460u);  // ref:calibration#worked-examples
}

/// Of a bias it is a product of two scales, which may leave float16 at either end.
TEST(RangeToParamsTest, HalfScalesAreNeverZeroNorInfinite) {
  for (int exponent = -140; exponent <= 127; ++exponent) {
    for (const float fraction : {1.0f, 1.2345678f, 1.9999f}) {
      const float scale = std::ldexp(fraction, exponent), half = half_scale(scale);
      EXPECT_EQ(half, float_from_float16(float16_from_float(half))) << scale;
      EXPECT_TRUE(half > 0 && half <= 65504) << scale;
      const bool is_normal = scale >= 0x1p-14f && scale < 65504;
      EXPECT_NEAR(half / scale, 1, is_normal ? 0x1p-11f : kInfinity) << scale;
      EXPECT_LE(half_scale(scale), half_scale(std::nextafter(scale, 1e38f))) << "it does not decrease";
    }
  }
  EXPECT_EQ(half_scale(kInfinity), 65504);
  EXPECT_EQ(half_scale(0), 0x1p-24f);
}

}  // namespace
}  // namespace quarkq::numeric
