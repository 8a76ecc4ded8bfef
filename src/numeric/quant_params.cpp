// SPDX-License-Identifier: MIT
#include "numeric/quant_params.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "numeric/element_type.h"

namespace quarkq::numeric {

namespace {

/// Limits per type (ref:scales#limits): full, symmetric, reduced.
struct Limits {
  ElementType type;
  IntegerRange full, symmetric, reduced;
};
constexpr int64_t k2To30 = int64_t{1} << 30, k2To31 = int64_t{1} << 31, k2To32 = int64_t{1} << 32;
constexpr Limits kLimits[] = {
    {ElementType::kInt2, {-2, 1}, {-1, 1}, {-1, 1}},
    {ElementType::kUInt2, {0, 3}, {0, 3}, {0, 1}},
    {ElementType::kInt4, {-8, 7}, {-7, 7}, {-4, 4}},
    {ElementType::kUInt4, {0, 15}, {0, 15}, {0, 7}},
    {ElementType::kInt8, {-128, 127}, {-127, 127}, {-64, 64}},
    {ElementType::kUInt8, {0, 255}, {0, 255}, {0, 127}},
    {ElementType::kInt16, {-32768, 32767}, {-32767, 32767}, {-16384, 16384}},
    {ElementType::kUInt16, {0, 65535}, {0, 65535}, {0, 32767}},
    {ElementType::kInt32, {-k2To31, k2To31 - 1}, {-(k2To31 - 1), k2To31 - 1}, {-k2To30, k2To30}},
    {ElementType::kUInt32, {0, k2To32 - 1}, {0, k2To32 - 1}, {0, k2To31 - 1}},
};

constexpr float kHalfLargest = 65504.0f, kHalfLeast = 0x1p-24f;  // float16 above 0

/// A width in the tensor's type.
float as_width(const QuantSpec& spec, float value) {
  return spec.half_scale ? float_from_float16(float16_from_float(value)) : value;
}

/// Symmetric UINT8 has its zero at 128; half-even rounding of 127.5 may land on either side (ref:scales#float-scales).
/// UINT4 alike.
int32_t centered(const QuantSpec& spec, int32_t zero_point) {
  if (!spec.symmetric) return zero_point;
  if (spec.type == ElementType::kUInt4 && zero_point == 7) return 8;
  return spec.type == ElementType::kUInt8 && zero_point == 127 ? 128 : zero_point;
}

/// The zero point for a rounded scale. Equal to `zero_point` except when the range's lower end moves.
int32_t zero_point_for_scale(const IntegerRange& limits, int32_t zero_point, float scale) {
  const float steps = static_cast<float>(limits.min) - static_cast<float>(zero_point);
  const float low = std::min(steps * scale, 0.0f);
  return static_cast<int32_t>(
      std::nearbyint(static_cast<double>(limits.min) - static_cast<double>(low) / static_cast<double>(scale)));
}

/// The number that the largest magnitude is scaled to (ref:scales#limits).
struct FloatLimit {
  ElementType type;
  float limit;
};
constexpr FloatLimit kFloatLimits[] = {
    {ElementType::kFloat16, kHalfLargest},
    {ElementType::kBFloat16, 2.0f},
    {ElementType::kFloat8E4M3Fn, 448.0f},
    {ElementType::kFloat8E5M2, 57344.0f},
};

/// Floating element types are symmetric.
QuantParams float_params(const QuantSpec& spec, Range range) {
  if (!spec.needs_range()) return {};
  const float magnitude = std::max(std::abs(range.min), std::abs(range.max));
  for (const FloatLimit& row : kFloatLimits) {
    if (row.type != spec.type) continue;
    const auto scale = static_cast<float>(static_cast<double>(magnitude) / static_cast<double>(row.limit));
    return {scale < std::numeric_limits<float>::min() ? 1.0f : scale, 0};
  }
  QQ_CHECK(false && "an element type that quantization writes");
  return {};
}

}  // namespace

IntegerRange integer_range(ElementType type, RangeKind kind) {
  for (const Limits& row : kLimits) {
    if (row.type != type) continue;
    return kind == RangeKind::kReduced ? row.reduced : kind == RangeKind::kSymmetric ? row.symmetric : row.full;
  }
  QQ_CHECK(false && "an integer type of at most 32 bits");
  return {};
}

int power_of_two_position(float scale) {
  const double clamped = std::clamp(static_cast<double>(scale), 0x1p-127, 0x1p127);
  return static_cast<int>(std::nearbyint(-std::log2(clamped)));
}

float scale_of_position(int position) { return std::ldexp(1.0f, -position); }

float int16_scale(float scale) {
  const double wanted = scale;
  double best = 0, best_distance = std::numeric_limits<double>::infinity();
  for (int n = 0; n <= 16; ++n) {
    const double steps = std::ldexp(wanted, n);
    if (steps < -32768 || steps > 32767) continue;
    for (const double m : {std::floor(steps), std::ceil(steps)}) {
      const double candidate = std::ldexp(m, -n);
      const double distance = std::abs(candidate - wanted);
      if (distance < best_distance) {
        best_distance = distance;
        best = candidate;
      }
    }
  }
  const float rounded = static_cast<float>(best);
  return rounded < std::numeric_limits<float>::min() ? 0x1p-14f : rounded;
}

float half_scale(float scale) {
  return std::clamp(float_from_float16(float16_from_float(scale)), kHalfLeast, kHalfLargest);
}

Result<QuantParams> params_for_range(const QuantSpec& spec, Range range) {
  if (std::isnan(range.min) || std::isnan(range.max)) return bad_data("a range contains NaN");
  if (!is_integer(spec.type)) return float_params(spec, range);
  constexpr float kHalfMax = std::numeric_limits<float>::max() / 2;
  float low = std::max(std::min(range.min, 0.0f), -kHalfMax);
  float high = std::min(std::max(range.max, 0.0f), kHalfMax);
  if (spec.symmetric) {
    high = std::max(-low, high);
    low = -high;
  }
  const IntegerRange limits = spec.range();
  // The subtraction is rounded to the tensor's type first, unless only the steps of the range fit into it.
  const float rounded = as_width(spec, high - low);
  const double width = static_cast<double>(std::isinf(rounded) ? high - low : rounded);
  const double step = width / (static_cast<double>(limits.max) - static_cast<double>(limits.min));
  const float tiny = spec.half_scale ? 6.103515625e-05f : std::numeric_limits<float>::min();
  if (step < static_cast<double>(tiny)) return QuantParams{1.0f, 0};
  const double zero_point = std::nearbyint(static_cast<double>(limits.min) - static_cast<double>(low) / step);
  if (zero_point > static_cast<double>(std::numeric_limits<int32_t>::max())) {
    return unsupported("zero point ", zero_point, ": found with ", name(spec.type),
                       ", allowed is up to 2^31 - 1; use Int32, or a type of 16 bits");
  }
  QuantParams params;
  params.scale = static_cast<float>(step);
  params.zero_point = static_cast<int32_t>(zero_point);
  if (spec.scale != ScaleKind::kFloat) {
    params.scale = spec.scale == ScaleKind::kPowerOfTwo ? scale_of_position(power_of_two_position(params.scale))
                                                        : int16_scale(params.scale);
    params.zero_point = zero_point_for_scale(limits, params.zero_point, params.scale);
  }
  if (spec.half_scale) params.scale = half_scale(params.scale);
  params.zero_point = centered(spec, params.zero_point);
  return params;
}

Range representable_range(const QuantSpec& spec, const QuantParams& params) {
  const IntegerRange limits = spec.range();
  return {static_cast<float>(limits.min - params.zero_point) * params.scale,
          static_cast<float>(limits.max - params.zero_point) * params.scale};
}

}  // namespace quarkq::numeric
