// SPDX-License-Identifier: MIT
// Numbers of 8 and 4 bits as ONNX Cast defines them (opset 24): FLOAT8 in its four forms, FLOAT8E8M0, FLOAT4E2M1, INT4
// and UINT4. Codes come one to a byte here; pack_nibbles() and unpack_nibbles() make and read the stored form of 4-bit
// types, two elements to a byte, the first in the low half.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "numeric/element_type.h"

namespace quarkq::numeric {

/// FLOAT8*, FLOAT4E2M1 or FLOAT8E8M0.
bool is_small_float(ElementType type);
/// Stored two elements to a byte.
inline bool is_nibble(ElementType type) { return bits(type) == 4; }

/// Which way a value between two powers of two is rounded; for FLOAT8E8M0 only.
enum class PowerRounding { kUp, kDown, kNearest };
/// "up", "down" or "nearest".
std::optional<PowerRounding> power_rounding_from_name(std::string_view name);

/// How floats become codes.
struct SmallFloatSettings {
  ElementType type = ElementType::kFloat8E4M3Fn;
  bool saturate = true;                         ///< what is too large becomes the largest value, not Inf or NaN
  PowerRounding rounding = PowerRounding::kUp;  ///< the other types round to nearest even
};

/// REQUIRES (all four): is_small_float(type).
uint8_t small_float_from_float(float x, const SmallFloatSettings& settings);
float float_from_small_float(uint8_t code, ElementType type);
void small_floats_from_floats(const float* x, uint8_t* codes, int64_t n, const SmallFloatSettings& settings);
void floats_from_small_floats(const uint8_t* codes, float* y, int64_t n, ElementType type);

/// The low four bits of each byte, packed. An odd `n` leaves the high half of the last byte zero.
void pack_nibbles(const uint8_t* codes, uint8_t* packed, int64_t n);
/// Elements [first, first + n) of a packed array as values 0..15.
void unpack_nibbles(const uint8_t* packed, int64_t first, int64_t n, uint8_t* codes);
/// The same with sign: values -8..7.
void unpack_int4(const uint8_t* packed, int64_t first, int64_t n, int8_t* values);

/// `x` cut off to a float whose last bit is set when anything was lost ("round to odd"): rounding the result to at most
/// 22 bits gives what rounding `x` itself gives.
float float_rounded_to_odd(double x);

}  // namespace quarkq::numeric
