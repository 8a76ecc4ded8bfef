// SPDX-License-Identifier: MIT
// Weights to integers: worked numbers of ref:scales#stored-weights, ref:scales#worked-numbers, channels, clipping, the
// power-of-two search.
#include "numeric/encode.h"

#include <cmath>
#include <limits>

#include "unit/numeric/golden_calibration.h"

namespace quarkq::numeric {
namespace {

QuantSpec int8_spec(ScaleKind scale = ScaleKind::kFloat) {
  QuantSpec spec;
  spec.scale = scale;
  return spec;
}

IntegerRange narrow(ElementType type) { return integer_range(type, RangeKind::kSymmetric); }

std::vector<QuantParams> params_of(const std::vector<float>& values, const ChannelSplit& split, const QuantSpec& spec,
                                   bool search = false) {
  const auto result = weight_params(values, split, spec, narrow(spec.type), search);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? result.value() : std::vector<QuantParams>{};
}

std::vector<int32_t> encode_all(const std::vector<float>& values, const QuantSpec& spec, bool search = false) {
  const ChannelSplit split{1, 1, static_cast<int64_t>(values.size())};
  return encode(values, split, params_of(values, split, spec, search), narrow(spec.type));
}

const std::vector<float> kConvWeights = {-0.25f, -0.15f, -0.05f, 0.05f, 0.15f, 0.25f};

TEST(EncodeTest, ConvExampleWithFloatScale) {
  EXPECT_EQ(params_of(kConvWeights, {1, 1, 6}, int8_spec())[0].scale, 0.001968503929674625f);
  EXPECT_EQ(encode_all(kConvWeights, int8_spec()), (std::vector<int32_t>{-127, -76, -25, 25, 76, 127}));
}

TEST(EncodeTest, ConvExampleWithPowerOfTwoScaleClipsNarrow) {
  EXPECT_EQ(params_of(kConvWeights, {1, 1, 6}, int8_spec(ScaleKind::kPowerOfTwo))[0].scale, 0x1p-9f);
  // -0.25 / 2^-9 = -128 is stored as -127.
  EXPECT_EQ(encode_all(kConvWeights, int8_spec(ScaleKind::kPowerOfTwo)),
            (std::vector<int32_t>{-127, -77, -26, 26, 77, 127}));
}

TEST(EncodeTest, BiasOfTheXint8Example) {
  const std::vector<float> bias = {0.1f, -0.2f};
  EXPECT_EQ(params_of(bias, {1, 1, 2}, int8_spec(ScaleKind::kPowerOfTwo))[0].scale, 0x1p-9f);
  EXPECT_EQ(encode_all(bias, int8_spec(ScaleKind::kPowerOfTwo)), (std::vector<int32_t>{51, -102}));
}

TEST(EncodeTest, TheSearchKeepsItsStartWhenEveryErrorOverflows) {
  const std::vector<float> mask = {0.0f, -std::numeric_limits<float>::max()};
  EXPECT_EQ(params_of(mask, {1, 1, 2}, int8_spec(ScaleKind::kPowerOfTwo), /*search=*/true)[0].scale, 0x1p120f);
}

TEST(EncodeTest, AsymmetricInt8NeverStoresTheLowestValue) {
  QuantSpec spec = int8_spec();
  spec.symmetric = false;
  const std::vector<int32_t> codes = encode_all({0.0f, 1.0f, 2.0f, 3.0f}, spec);
  EXPECT_EQ(codes.front(), -127);  // the zero point is -128
  EXPECT_EQ(codes.back(), 127);
}

TEST(EncodeTest, TiesGoToEvenAndNonFiniteValuesToTheEnds) {
  const std::vector<float> values = {0.5f, 1.5f, -0.5f, -2.5f, NAN, 1e30f, -1e30f};
  const std::vector<int32_t> codes = encode(values, {1, 1, 7}, {{1.0f, 0}}, {-127, 127});
  EXPECT_EQ(codes, (std::vector<int32_t>{0, 2, 0, -2, -127, 127, -127}));
}

TEST(EncodeTest, Int32SaturatesAtItsLargestValue) {
  const std::vector<int32_t> codes =
      encode(std::vector<float>{4e9f, -4e9f}, {1, 1, 2}, {{1.0f, 0}}, narrow(ElementType::kInt32));
  EXPECT_EQ(codes[0], std::numeric_limits<int32_t>::max());
  // float32 cannot tell -(2^31 - 1) from -2^31.
  EXPECT_LE(codes[1], -2147483647);
}

TEST(EncodeTest, SplitsChannelsAlongTheAxis) {
  QuantSpec spec;
  spec.per_channel = true;
  spec.axis = 1;
  const ChannelSplit split = split_channels({2, 3, 4, 5}, spec);
  EXPECT_EQ(split.outer, 2);
  EXPECT_EQ(split.channels, 3);
  EXPECT_EQ(split.inner, 20);
  spec.per_channel = false;
  const ChannelSplit whole = split_channels({2, 3, 4, 5}, spec);
  EXPECT_EQ(whole.channels, 1);
  EXPECT_EQ(whole.outer * whole.inner, 120);
}

TEST(EncodeTest, ChannelsAreIndependent) {
  const std::vector<float> values = {1, -2, 10, 20, 3, 4, -30, 40};  // [2, 2, 2]: channel 0 holds 1 -2 3 4
  const ChannelSplit split{2, 2, 2};
  const std::vector<QuantParams> params = params_of(values, split, int8_spec());
  ASSERT_EQ(params.size(), 2u);
  const std::vector<int32_t> codes = encode(values, split, params, {-127, 127});
  const std::vector<float> first = {1, -2, 3, 4}, second = {10, 20, -30, 40};
  const std::vector<int32_t> a = encode_all(first, int8_spec()), b = encode_all(second, int8_spec());
  EXPECT_EQ(codes, (std::vector<int32_t>{a[0], a[1], b[0], b[1], a[2], a[3], b[2], b[3]}));
}

TEST(EncodeTest, EmptyWeightsHaveScaleOne) {
  EXPECT_EQ(params_of({}, {1, 1, 0}, int8_spec()), (std::vector<QuantParams>{{1.0f, 0}}));
  EXPECT_TRUE(encode_all({}, int8_spec()).empty());
}

TEST(EncodeTest, RejectsNan) {
  const std::vector<float> values = {1.0f, NAN};
  EXPECT_FALSE(weight_params(values, {1, 1, 2}, int8_spec(), {-127, 127}, /*search=*/false).ok());
}

/// The reference's weight methods that are built: name, spec, search.
struct Method {
  const char* name;
  QuantSpec spec;
  bool search;
};

std::vector<Method> methods() {
  QuantSpec pow2_u8 = int8_spec(ScaleKind::kPowerOfTwo), pow2_i8 = int8_spec(ScaleKind::kPowerOfTwo);
  pow2_u8.type = ElementType::kUInt8;
  pow2_u8.symmetric = pow2_i8.symmetric = false;
  return {{"minmax/int8_sym", int8_spec(), false},
          {"pof2_nonoverflow/int8_sym", int8_spec(ScaleKind::kPowerOfTwo), false},
          {"pof2_minmse/int8_sym", int8_spec(ScaleKind::kPowerOfTwo), true},
          {"pof2_minmse/uint8_asym", pow2_u8, true},
          {"pof2_minmse/int8_asym", pow2_i8, true}};
}

TEST(EncodeTest, RecordedWeightsBitForBit) {
  QQ_SKIP_WITHOUT_GOLDEN();
  for (const auto& [set, results] : test::golden_calibration()["weights_quantize_data"]["results"].items()) {
    std::vector<float> values;
    for (const std::vector<float>& sample : test::golden_samples(set))
      values.insert(values.end(), sample.begin(), sample.end());
    const ChannelSplit split{1, 1, static_cast<int64_t>(values.size())};
    for (const Method& method : methods()) {
      SCOPED_TRACE(set + " " + method.name);
      const test::Json& wanted = results[method.name];
      const std::vector<QuantParams> params = params_of(values, split, method.spec, method.search);
      ASSERT_EQ(params.size(), 1u);
      const test::Json& scale = wanted["scale"];
      EXPECT_EQ(params[0].scale, scale.is_object() ? test::float_of_bits(scale["bits"]) : scale.get<float>());
      EXPECT_EQ(params[0].zero_point, wanted["zp"].get<int32_t>());
      const std::vector<int32_t> codes = encode(values, split, params, narrow(method.spec.type));
      for (size_t i = 0; i < 8; ++i) EXPECT_EQ(codes[i], wanted["q_first8"][i].get<int32_t>()) << i;
      int64_t sum = 0;
      for (const int32_t code : codes) sum += code;
      EXPECT_EQ(sum, wanted["q_sum"].get<int64_t>());
    }
  }
}

}  // namespace
}  // namespace quarkq::numeric
