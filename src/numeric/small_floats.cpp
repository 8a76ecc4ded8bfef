// SPDX-License-Identifier: MIT
#include "numeric/small_floats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace quarkq::numeric {
namespace {

/// Sign, exponent and fraction of a code, and the codes that are not numbers. Formats with `no_negative_zero` use the
/// code of -0 as their only NaN.
struct Format {
  ElementType type;
  int exponent_bits, fraction_bits, bias;
  uint8_t largest;   ///< code of the largest number, without sign
  uint8_t overflow;  ///< code of what is larger, when it does not saturate
  uint8_t nan;       ///< code without sign; types below 8 bits have none and get -0, as in ml_dtypes
  bool no_negative_zero;

  uint8_t sign_bit() const { return static_cast<uint8_t>(1u << (exponent_bits + fraction_bits)); }
};

constexpr Format kFormats[] = {
    {ElementType::kFloat8E4M3Fn, 4, 3, 7, 0x7E, 0x7F, 0x7F, false},
    {ElementType::kFloat8E4M3FnUz, 4, 3, 8, 0x7F, 0x80, 0x80, true},
    {ElementType::kFloat8E5M2, 5, 2, 15, 0x7B, 0x7C, 0x7E, false},
    {ElementType::kFloat8E5M2FnUz, 5, 2, 16, 0x7F, 0x80, 0x80, true},
    {ElementType::kFloat4E2M1, 2, 1, 1, 0x07, 0x07, 0x08, false},
    {ElementType::kFloat6E2M3, 2, 3, 1, 0x1F, 0x1F, 0x20, false},
    {ElementType::kFloat6E3M2, 3, 2, 3, 0x1F, 0x1F, 0x20, false},
};
constexpr size_t kPowers = std::size(kFormats);  ///< where FLOAT8E8M0 comes in lists of all small floats

size_t number_of(ElementType type) {
  for (size_t i = 0; i < kPowers; ++i) {
    if (kFormats[i].type == type) return i;
  }
  return kPowers;
}

/// Returns the magnitude of a finite float, rounded to nearest even on the grid of `f`; greater than f.largest if it is
/// too large. Values below the smallest normal number are multiples of the smallest step.
uint32_t rounded_code(uint32_t magnitude, const Format& f) {
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent == -127) return 0;  // a subnormal float32 is far below half of any smallest step
  const int lowest = 1 - f.bias;
  const int shift = 23 - f.fraction_bits + std::max(lowest - exponent, 0);
  if (shift > 24) return 0;
  const uint32_t significand = (magnitude & 0x7FFFFF) | 0x800000;
  uint32_t steps = significand >> shift;
  const uint32_t rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  if (rest > half || (rest == half && (steps & 1) != 0)) ++steps;
  if (exponent < lowest) return steps;
  return (static_cast<uint32_t>(exponent - lowest) << f.fraction_bits) + steps;  // the hidden bit adds one exponent
}

uint8_t encode(float x, const Format& f, bool saturate) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint8_t sign = (bits >> 31) != 0 ? f.sign_bit() : uint8_t{0};
  if (std::isnan(x)) return f.no_negative_zero ? f.nan : static_cast<uint8_t>(f.nan ^ sign);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  const uint32_t code = std::isinf(x) ? 256u : rounded_code(magnitude, f);
  if (code > f.largest && !saturate) return static_cast<uint8_t>(f.overflow | sign);
  const auto clamped = static_cast<uint8_t>(std::min<uint32_t>(code, f.largest));
  if (clamped == 0 && f.no_negative_zero) return 0;
  return static_cast<uint8_t>(clamped | sign);
}

constexpr uint8_t kNoPower = 255, kLargestPower = 254;

/// Powers of two 2^(code - 127). Negative values count as too small: Cast leaves them open, ONNX Runtime does so.
uint8_t encode_power(float x, bool saturate, PowerRounding rounding) {
  if (std::isnan(x)) return kNoPower;
  const auto bits = std::bit_cast<uint32_t>(x);
  constexpr float kSmallest = 0x1p-127f;
  if (x < kSmallest) return saturate ? uint8_t{0} : kNoPower;
  uint32_t code = bits >> 23;  // 0 for [2^-127, 2^-126)
  const uint32_t fraction = code == 0 ? (bits & 0x3FFFFF) << 1 : bits & 0x7FFFFF;
  if (rounding == PowerRounding::kUp ? fraction != 0 : rounding == PowerRounding::kNearest && fraction >= 0x400000) {
    ++code;
  }
  if (code <= kLargestPower) return static_cast<uint8_t>(code);
  return saturate ? kLargestPower : kNoPower;
}

float decode(uint32_t code, const Format& f) {
  const uint32_t magnitude = code & (f.sign_bit() - 1u);
  const float sign = (code & f.sign_bit()) != 0 ? -1.0f : 1.0f;
  if (f.no_negative_zero && code == f.nan) return NAN;
  if (magnitude > f.largest) {
    const bool infinite = f.overflow < f.nan && magnitude == f.overflow;
    return std::copysign(infinite ? INFINITY : NAN, sign);
  }
  const uint32_t fraction = magnitude & ((1u << f.fraction_bits) - 1u);
  const auto exponent = static_cast<int>(magnitude >> f.fraction_bits);
  const uint32_t hidden = exponent == 0 ? 0 : 1u << f.fraction_bits;
  return sign * std::ldexp(static_cast<float>(fraction + hidden), std::max(exponent, 1) - f.bias - f.fraction_bits);
}

using Values = std::array<float, 256>;

Values list_values(size_t number) {
  Values values{};
  for (uint32_t code = 0; code < 256; ++code) {
    if (number == kPowers) {
      values[code] = code == kNoPower ? NAN : std::ldexp(1.0f, static_cast<int>(code) - 127);
    } else {
      values[code] = decode(code, kFormats[number]);
    }
  }
  return values;
}

const Values& values_of(ElementType type) {
  static const auto lists = [] {
    std::array<Values, kPowers + 1> all;
    for (size_t i = 0; i < all.size(); ++i) all[i] = list_values(i);
    return all;
  }();
  return lists[number_of(type)];
}

}  // namespace

bool is_small_float(ElementType type) { return type == ElementType::kFloat8E8M0 || number_of(type) < kPowers; }

std::optional<PowerRounding> power_rounding_from_name(std::string_view name) {
  if (name == "up") return PowerRounding::kUp;
  if (name == "down") return PowerRounding::kDown;
  if (name == "nearest") return PowerRounding::kNearest;
  return std::nullopt;
}

uint8_t small_float_from_float(float x, const SmallFloatSettings& s) {
  if (s.type == ElementType::kFloat8E8M0) return encode_power(x, s.saturate, s.rounding);
  return encode(x, kFormats[number_of(s.type)], s.saturate);
}

float float_from_small_float(uint8_t code, ElementType type) { return values_of(type)[code]; }

void small_floats_from_floats(const float* x, uint8_t* codes, int64_t n, const SmallFloatSettings& s) {
  if (s.type == ElementType::kFloat8E8M0) {
    for (int64_t i = 0; i < n; ++i) codes[i] = encode_power(x[i], s.saturate, s.rounding);
    return;
  }
  const Format& format = kFormats[number_of(s.type)];
  for (int64_t i = 0; i < n; ++i) codes[i] = encode(x[i], format, s.saturate);
}

void floats_from_small_floats(const uint8_t* codes, float* y, int64_t n, ElementType type) {
  const Values& values = values_of(type);
  for (int64_t i = 0; i < n; ++i) y[i] = values[codes[i]];
}

namespace {

template <int kWidth>
void pack(const uint8_t* codes, uint8_t* packed, int64_t n) {
  uint32_t waiting = 0;  // bits that fill no byte yet
  int count = 0;
  for (int64_t i = 0; i < n; ++i) {
    waiting |= (codes[i] & ((1u << kWidth) - 1u)) << count;
    count += kWidth;
    if (count < 8) continue;
    *packed++ = static_cast<uint8_t>(waiting);
    waiting >>= 8;
    count -= 8;
  }
  if (count > 0) *packed = static_cast<uint8_t>(waiting);
}

template <int kWidth>
void unpack(const uint8_t* packed, int64_t first, int64_t n, uint8_t* codes) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = (first + i) * kWidth;
    const int shift = static_cast<int>(at % 8);
    uint32_t code = static_cast<uint32_t>(packed[at / 8]) >> shift;
    if (8 % kWidth != 0 && shift + kWidth > 8) code |= static_cast<uint32_t>(packed[at / 8 + 1]) << (8 - shift);
    codes[i] = static_cast<uint8_t>(code & ((1u << kWidth) - 1u));
  }
}

}  // namespace

void pack_codes(const uint8_t* codes, uint8_t* packed, int64_t n, int width) {
  if (width == 2) return pack<2>(codes, packed, n);
  if (width == 6) return pack<6>(codes, packed, n);
  pack<4>(codes, packed, n);
}

void unpack_codes(const uint8_t* packed, int64_t first, int64_t n, int width, uint8_t* codes) {
  if (width == 2) return unpack<2>(packed, first, n, codes);
  if (width == 6) return unpack<6>(packed, first, n, codes);
  unpack<4>(packed, first, n, codes);
}

void unpack_integers(const uint8_t* packed, int64_t first, int64_t n, int width, int8_t* values) {
  unpack_codes(packed, first, n, width, reinterpret_cast<uint8_t*>(values));
  const int sign = 1 << (width - 1);
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<int8_t>((values[i] ^ sign) - sign);
}

float float_rounded_to_odd(double x) {
  float y = static_cast<float>(x);
  if (static_cast<double>(y) == x || std::isnan(x)) return y;
  if (std::fabs(static_cast<double>(y)) > std::fabs(x)) y = std::nextafter(y, 0.0f);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(y) | 1u);
}

}  // namespace quarkq::numeric
