// SPDX-License-Identifier: MIT
// ONNX element types: wire numbers, names and sizes. Only this table contains them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace quarkq {

/// Element types with the numbers of TensorProto.DataType.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3Fn = 17,
  kFloat8E4M3FnUz = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FnUz = 20,
  kUInt4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUInt2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

/// Returns the bits of one element; 0 for strings and undefined.
int bits(ElementType type);
/// Returns the bytes of `count` elements in raw data. Elements below 8 bits are packed from the lowest bit on; the last
/// byte may be partly used.
int64_t storage_bytes(ElementType type, int64_t count);
/// Returns the ONNX spelling, for example "FLOAT16", or "UNDEFINED" for unknown numbers.
std::string_view name(ElementType type);
/// Returns the type with wire number `number`, or nullopt if there is none.
std::optional<ElementType> element_type_from_wire(int32_t number);
std::optional<ElementType> element_type_from_name(std::string_view name);

/// Returns true for float32, float16, bfloat16, float64 and the small floats.
bool is_floating(ElementType type);
bool is_integer(ElementType type);

template <typename T>
constexpr ElementType element_type_of();
template <>
constexpr ElementType element_type_of<float>() {
  return ElementType::kFloat;
}
template <>
constexpr ElementType element_type_of<double>() {
  return ElementType::kDouble;
}
template <>
constexpr ElementType element_type_of<int8_t>() {
  return ElementType::kInt8;
}
template <>
constexpr ElementType element_type_of<uint8_t>() {
  return ElementType::kUInt8;
}
template <>
constexpr ElementType element_type_of<int16_t>() {
  return ElementType::kInt16;
}
template <>
constexpr ElementType element_type_of<uint16_t>() {
  return ElementType::kUInt16;
}
template <>
constexpr ElementType element_type_of<int32_t>() {
  return ElementType::kInt32;
}
template <>
constexpr ElementType element_type_of<uint32_t>() {
  return ElementType::kUInt32;
}
template <>
constexpr ElementType element_type_of<int64_t>() {
  return ElementType::kInt64;
}
template <>
constexpr ElementType element_type_of<uint64_t>() {
  return ElementType::kUInt64;
}
template <>
constexpr ElementType element_type_of<bool>() {
  return ElementType::kBool;
}

// float16 and bfloat16 as bit patterns: conversion to and from float32, round to nearest, ties to even.

inline float float_from_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t bfloat16_from_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

inline float float_from_float16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1F;
  const uint32_t fraction = half & 0x3FF;
  if (exponent == 0) {  // zero and subnormals: fraction * 2^-24 is exact
    const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-08f;
    return sign != 0 ? -magnitude : magnitude;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

inline uint16_t float16_from_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  if (magnitude >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);  // 65520 and above round to infinity
  if (magnitude < 0x38800000) {  // below 2^-14: the float adder rounds to multiples of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000));
  }
  const uint32_t rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

}  // namespace quarkq
