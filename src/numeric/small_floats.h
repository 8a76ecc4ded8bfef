// SPDX-License-Identifier: MIT
// Numbers of 8 and fewer bits as defined by ONNX Cast (opset 28): FLOAT8 in its four forms, FLOAT8E8M0, FLOAT6 in its
// two forms, FLOAT4E2M1, and integers of 4 and 2 bits. Codes here use one byte each. pack_codes() and unpack_codes()
// convert to and from the stored form of types below 8 bits: a stream of bits, the first element in the lowest ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "numeric/element_type.h"

namespace quarkq::numeric {

/// Returns true for FLOAT8*, FLOAT6*, FLOAT4E2M1 and FLOAT8E8M0.
bool is_small_float(ElementType type);
/// Returns whether elements of a type share bytes where they are stored.
inline bool is_packed(ElementType type) { return bits(type) > 0 && bits(type) < 8; }

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

// Packed arrays. REQUIRES (all three): `width`, the bits of an element, is 2, 4 or 6.

/// Packs the low `width` bits of each byte. Unused bits of the last byte are zero.
void pack_codes(const uint8_t* codes, uint8_t* packed, int64_t n, int width);
/// Unpacks elements [first, first + n) of a packed array to codes without sign.
void unpack_codes(const uint8_t* packed, int64_t first, int64_t n, int width, uint8_t* codes);
/// Unpacks elements [first, first + n) of a packed array of signed integers.
void unpack_integers(const uint8_t* packed, int64_t first, int64_t n, int width, int8_t* values);

/// Truncates `x` to a float and sets its last bit if anything was lost ("round to odd"). Rounding the result to at most
/// 22 bits then equals rounding `x` itself.
float float_rounded_to_odd(double x);

}  // namespace quarkq::numeric
