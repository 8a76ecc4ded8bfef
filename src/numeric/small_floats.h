// SPDX-License-Identifier: MIT
// Numbers of 8 and 4 bits as defined by ONNX Cast (opset 24): FLOAT8 in its four forms, FLOAT8E8M0, FLOAT4E2M1, INT4
// and UINT4. Codes here use one byte each. pack_nibbles() and unpack_nibbles() convert to and from the stored form of
// 4-bit types, two elements per byte, the first in the low half.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "numeric/element_type.h"

namespace quarkq::numeric {

/// Returns true for FLOAT8*, FLOAT4E2M1 and FLOAT8E8M0.
bool is_small_float(ElementType type);
/// Returns whether a type is stored two elements per byte.
inline bool is_nibble(ElementType type) { return bits(type) == 4; }

/// Rounding of a value between two powers of two; only for FLOAT8E8M0.
enum class PowerRounding { kUp, kDown, kNearest };
/// Parses "up", "down" or "nearest".
std::optional<PowerRounding> power_rounding_from_name(std::string_view name);

/// Conversion of floats to codes.
struct SmallFloatSettings {
  ElementType type = ElementType::kFloat8E4M3Fn;
  bool saturate = true;                         ///< Values that are too large become the largest value instead of Inf
                                                ///< or NaN.
  PowerRounding rounding = PowerRounding::kUp;  ///< Only for FLOAT8E8M0; other types round to nearest even.
};

/// REQUIRES (all four): is_small_float(type).
uint8_t small_float_from_float(float x, const SmallFloatSettings& settings);
float float_from_small_float(uint8_t code, ElementType type);
void small_floats_from_floats(const float* x, uint8_t* codes, int64_t n, const SmallFloatSettings& settings);
void floats_from_small_floats(const uint8_t* codes, float* y, int64_t n, ElementType type);

/// Packs the low four bits of each byte. If `n` is odd, the high half of the last byte is zero.
void pack_nibbles(const uint8_t* codes, uint8_t* packed, int64_t n);
/// Unpacks elements [first, first + n) of a packed array to values 0..15.
void unpack_nibbles(const uint8_t* packed, int64_t first, int64_t n, uint8_t* codes);
/// Unpacks elements [first, first + n) of a packed array to signed values -8..7.
void unpack_int4(const uint8_t* packed, int64_t first, int64_t n, int8_t* values);

/// Truncates `x` to a float and sets its last bit if anything was lost ("round to odd"). Rounding the result to at most
/// 22 bits then equals rounding `x` itself.
float float_rounded_to_odd(double x);

}  // namespace quarkq::numeric
