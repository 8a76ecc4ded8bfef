// SPDX-License-Identifier: MIT
// Properties of scales and codes that hold for every range and every integer type: what a grid reaches, how far a value
// moves, where codes saturate.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "numeric/encode.h"
#include "numeric/linear_quant.h"
#include "numeric/quant_params.h"

namespace quarkq::numeric {
namespace {

constexpr ElementType kIntegers[] = {ElementType::kInt4,  ElementType::kUInt4, ElementType::kInt8,
                                     ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16};
constexpr ScaleKind kKinds[] = {ScaleKind::kFloat, ScaleKind::kPowerOfTwo, ScaleKind::kInt16};

/// Ranges from subnormal widths to half the largest float, on either side of zero and around it.
std::vector<Range> ranges() {
  std::vector<Range> all;
  std::mt19937 generator(4);
  std::uniform_real_distribution<float> mantissa(0.5f, 1.0f);
  for (int exponent = -140; exponent <= 126; exponent += 7) {
    const float a = std::ldexp(mantissa(generator), exponent), b = std::ldexp(mantissa(generator), exponent - 3);
    for (const Range range : {Range{-a, b}, Range{-b, a}, Range{b, a}, Range{-a, -b}, Range{0, a}, Range{-a, 0}})
      all.push_back(range);
  }
  return all;
}

/// Calls visit(spec, range, parameters) for every integer type, symmetry, kind of scale and range.
template <typename Visit>
void for_each_params(const Visit& visit) {
  for (const ElementType type : kIntegers) {
    for (const ScaleKind kind : kKinds) {
      for (const bool symmetric : {false, true}) {
        QuantSpec spec;
        spec.type = type;
        spec.scale = kind;
        spec.symmetric = symmetric;
        for (const Range& range : ranges()) {
          const Result<QuantParams> params = params_for_range(spec, range);
          ASSERT_TRUE(params.ok()) << params.status().message();
          SCOPED_TRACE(testing::Message() << name(type) << (symmetric ? " symmetric" : "") << " kind "
                                          << static_cast<int>(kind) << " [" << range.min << ", " << range.max << "]");
          visit(spec, range, params.value());
        }
      }
    }
  }
}

TEST(ScalePropertiesTest, EveryScaleIsANormalNumberAndEveryZeroPointACode) {
  for_each_params([](const QuantSpec& spec, const Range&, const QuantParams& params) {
    EXPECT_TRUE(std::isnormal(params.scale) && params.scale > 0) << params.scale;
    const IntegerRange full = integer_range(spec.type, RangeKind::kFull);
    EXPECT_TRUE(full.min <= params.zero_point && params.zero_point <= full.max) << params.zero_point;
  });
}

TEST(ScalePropertiesTest, FloatScalesReachBothEndsOfTheRange) {
  for_each_params([](const QuantSpec& spec, const Range& range, const QuantParams& params) {
    if (spec.scale != ScaleKind::kFloat || params == QuantParams{1.0f, 0}) return;
    const Range grid = representable_range(spec, params);
    // Half a step on either side: the zero point is rounded, for the centred unsigned types by another half.
    const double slack = 1.01 * static_cast<double>(params.scale);
    EXPECT_LE(static_cast<double>(grid.min), static_cast<double>(range.min) + slack);
    EXPECT_GE(static_cast<double>(grid.max), static_cast<double>(range.max) - slack);
  });
}

TEST(ScalePropertiesTest, PowerOfTwoScalesAreWithinTheRootOfTwo) {
  for_each_params([](const QuantSpec& spec, const Range& range, const QuantParams& params) {
    if (spec.scale != ScaleKind::kPowerOfTwo) return;
    EXPECT_EQ(std::bit_cast<uint32_t>(params.scale) & 0x7FFFFF, 0u) << "no power of two: " << params.scale;
    QuantSpec plain = spec;
    plain.scale = ScaleKind::kFloat;
    const double exact = static_cast<double>(params_for_range(plain, range).value().scale);
    const double ratio = static_cast<double>(params.scale) / exact;
    EXPECT_GE(ratio, (1 / std::numbers::sqrt2) * (1 - 1e-6));
    EXPECT_LE(ratio, std::numbers::sqrt2 * (1 + 1e-6));
  });
}

TEST(ScalePropertiesTest, ZeroIsExactInEveryFormat) {
  for_each_params([](const QuantSpec& spec, const Range&, const QuantParams& params) {
    const LinearParams linear{params.scale, params.zero_point, integer_range(spec.type, RangeKind::kFull)};
    EXPECT_EQ(fake_quantize(0.0f, linear), 0.0f);
    EXPECT_EQ(fake_quantize(-0.0f, linear), 0.0f);
  });
}

TEST(ScalePropertiesTest, ValuesInsideMoveByHalfAStepAtMost) {
  for_each_params([](const QuantSpec& spec, const Range& range, const QuantParams& params) {
    const LinearParams linear{params.scale, params.zero_point, integer_range(spec.type, RangeKind::kFull)};
    const Range grid = representable_range(spec, params);
    for (int i = 0; i <= 8; ++i) {
      const float x = range.min + (range.max - range.min) * (static_cast<float>(i) / 8);
      if (x < grid.min || x > grid.max) continue;
      const double moved = std::abs(static_cast<double>(fake_quantize(x, linear)) - static_cast<double>(x));
      const double rounding = 0x1p-22 * std::abs(static_cast<double>(x));  // of a division and a product in float32
      EXPECT_LE(moved, 0.5 * static_cast<double>(params.scale) + rounding) << x;
    }
  });
}

TEST(ScalePropertiesTest, RoundingIsMonotonic) {
  const LinearParams linear{0.37f, 3, {-128, 127}};
  int64_t last = linear.range.min;
  for (float x = -60; x < 60; x += 0.011f) {
    const int64_t code = quantize(x, linear);
    EXPECT_GE(code, last) << x;
    last = code;
  }
  EXPECT_EQ(last, linear.range.max);
}

TEST(ScalePropertiesTest, CodesSaturateAtTheEndsOfEveryType) {
  constexpr float kLargest = std::numeric_limits<float>::max(), kInfinity = std::numeric_limits<float>::infinity();
  for (const ElementType type : {ElementType::kInt4, ElementType::kUInt4, ElementType::kInt8, ElementType::kUInt8,
                                 ElementType::kInt16, ElementType::kUInt16, ElementType::kInt32}) {
    SCOPED_TRACE(std::string(name(type)));
    const IntegerRange full = integer_range(type, RangeKind::kFull);
    for (const float scale : {1.0f, 0x1p-126f, 1e-3f}) {
      const LinearParams saturating{scale, full.min, full, Overflow::kSaturate};
      EXPECT_EQ(quantize(kLargest, saturating), full.max) << scale;
      EXPECT_EQ(quantize(-kLargest, saturating), full.min) << scale;
      EXPECT_EQ(quantize(kInfinity, saturating), full.max) << scale;
      EXPECT_EQ(quantize(-kInfinity, saturating), full.min) << scale;
      EXPECT_EQ(quantize(NAN, saturating), full.min) << scale;
      const LinearParams lowest{scale, full.max, full, Overflow::kLowest};
      EXPECT_EQ(quantize(kInfinity, lowest), full.min) << scale;
      EXPECT_EQ(quantize(-kLargest, lowest), full.min) << scale;
    }
  }
}

TEST(ScalePropertiesTest, EveryCodeComesBack) {
  for (const ElementType type : kIntegers) {
    const IntegerRange full = integer_range(type, RangeKind::kFull);
    for (const float scale : {1.0f, 0.1f, 0x1p-100f, 3e30f}) {
      const LinearParams linear{scale, (full.min + full.max) / 2, full};
      for (int64_t code = full.min; code <= full.max; code += type == ElementType::kInt16 ? 97 : 1) {
        ASSERT_EQ(quantize(dequantize(code, linear), linear), code) << name(type) << " " << scale;
      }
    }
  }
}

/// The definition of a split, one element at a time.
TEST(ScalePropertiesTest, ChannelsOfEveryAxisAreThoseOfTheIndex) {
  const std::vector<int64_t> dims = {2, 3, 4};
  std::vector<float> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  for (int64_t axis = 0; axis < 3; ++axis) {
    QuantSpec spec;
    spec.per_channel = true;
    spec.axis = axis;
    const ChannelSplit split = split_channels(dims, spec);
    ASSERT_EQ(split.channels, dims[static_cast<size_t>(axis)]);
    for (int64_t channel = 0; channel < split.channels; ++channel) {
      std::vector<float> expected;
      for (int64_t i = 0; i < 24; ++i) {
        const int64_t index[] = {i / 12, i / 4 % 3, i % 4};
        if (index[axis] == channel) expected.push_back(static_cast<float>(i));
      }
      EXPECT_EQ(channel_values(values, split, channel), expected) << "axis " << axis;
    }
  }
}

TEST(ScalePropertiesTest, TheSearchNeverMakesTheErrorLarger) {
  std::mt19937 generator(8);
  std::student_t_distribution<float> heavy(2.0f);
  for (int round = 0; round < 40; ++round) {
    std::vector<float> values(64);
    for (float& value : values) value = heavy(generator);
    const ChannelSplit split{1, 1, 64};
    QuantSpec spec;
    spec.scale = ScaleKind::kPowerOfTwo;
    const IntegerRange limits = integer_range(spec.type, RangeKind::kSymmetric);
    const auto error = [&](bool search) {
      const std::vector<QuantParams> params = weight_params(values, split, spec, limits, search).value();
      const std::vector<int32_t> codes = encode(values, split, params, limits);
      double sum = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        const double back = codes[i] * static_cast<double>(params[0].scale);
        sum += (back - static_cast<double>(values[i])) * (back - static_cast<double>(values[i]));
      }
      return sum;
    };
    EXPECT_LE(error(true), error(false) * (1 + 1e-5));
  }
}

}  // namespace
}  // namespace quarkq::numeric
