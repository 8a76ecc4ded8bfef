// SPDX-License-Identifier: MIT
// One element of each block format, without branches, for the vectorized loops (block_loops.isa.cpp alone includes
// this). Scaling by powers of two and cutting off magnitudes before they are scaled back gives the bits of the
// definitions in bfp.cpp and mx.cpp; what is exact there is exact here, and nothing is rounded twice.
//
// A format has: field(), what an element tells about its block; convert(), the element for what its block found;
// kHasParts with shifted() when sub-blocks shift the exponent; can_grow() with grows() when exponents may grow.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "numeric/bfp.h"
#include "numeric/mx.h"

namespace quarkq::numeric::QQ_ISA {
namespace {

constexpr int kFieldBias = 127, kNotFinite = 255;

inline float power_of_two(int exponent) {  // -126..127
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + kFieldBias) << 23);
}

/// x * 2^exponent, exponent -149..149, rounded once: the first factor differs from 1 only where the exponent is no
/// normal number's, and what it loses then is far too small to matter.
inline float scaled(float x, int exponent) {
  const int normal = std::clamp(exponent, -126, 127);
  return x * power_of_two(exponent - normal) * power_of_two(normal);
}

inline int field_of(float x) { return static_cast<int>((std::bit_cast<uint32_t>(x) >> 23) & 255); }
inline int finite_field_of(float x) {
  const int field = field_of(x);
  return field == kNotFinite ? 0 : field;
}

/// std::signbit(), of which no vectors are made.
inline bool is_negative(float x) { return std::bit_cast<int32_t>(x) < 0; }

/// Rounds to bfloat16 first, or does not: by a mask, since compilers make no vectors of a choice that stays the same.
struct BfloatFirst {
  uint32_t mask = 0;  ///< all ones: does

  float operator()(float x) const {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t rounding = 0x7FFF + ((bits >> 16) & 1);  // bfloat16_rounded()
    return std::bit_cast<float>((bits + (rounding & mask)) & ~(mask & 0xFFFF));
  }
};

/// A magnitude below 2^24, rounded to an integer.
template <BlockRounding kRounding>
inline float rounded(float magnitude, [[maybe_unused]] bool negative) {
  if constexpr (kRounding == BlockRounding::kHalfEven) return std::rint(magnitude);
  const float down = std::trunc(magnitude), rest = magnitude - down;
  const float least = kRounding == BlockRounding::kHalfUp && negative ? 0x1.000002p-1f : 0.5f;  // to go up
  return rest >= least ? down + 1.0f : down;
}

/// "to_bfp" and, with steps of the same size but other limits, the MX format int8.
template <BlockRounding kRounding>
struct SharedSteps {
  static constexpr bool kHasParts = false;
  int magnitude_bits = 7;
  int down = 133;   ///< elements are scaled by 2^(down - field)
  float finer = 1;  ///< and then by this; together that makes steps
  float top = 127, top_negative = 127;
  BfloatFirst value;
  bool compiler_exponents = false;

  int field(float x) const { return finite_field_of(value(x)); }
  bool can_grow() const { return compiler_exponents; }
  float steps(float v, int field) const { return std::fabs(scaled(v, down - field)) * finer; }

  int grows(float x, int field) const {
    const float v = value(x), count = rounded<kRounding>(steps(v, field), is_negative(v));
    const bool is_past = is_negative(v) ? count > 128.0f : count >= 128.0f;
    return is_past && field_of(v) == field ? 1 : 0;
  }
  float convert(float x, int field) const {
    const float v = value(x), exact = steps(v, field);
    const bool negative = is_negative(v);
    const float count = rounded<kRounding>(exact, negative);
    const float limit = negative ? top_negative : top;
    const float kept = count < limit ? count : limit;
    const bool lost = kRounding == BlockRounding::kHalfEven && count == 0.0f && exact != 0.0f;
    const float y = scaled(lost ? 0.0f : std::copysign(kept, v), field - (126 + magnitude_bits));
    return field_of(v) == kNotFinite ? v : y;
  }
};

/// "to_bfp_prime".
template <BlockRounding kRounding>
struct ShiftedSteps {
  static constexpr bool kHasParts = true;
  int magnitude_bits = 7;
  int largest_shift = 1;
  float top = 127;
  BfloatFirst value;

  int field(float x) const { return field_of(value(x)); }
  bool can_grow() const { return false; }
  int grows(float, int) const { return 0; }

  /// The field of a sub-block: 255 spoils the whole block.
  int shifted(int block, int part) const {
    const int shift = block - part < largest_shift ? block - part : largest_shift;
    return block == kNotFinite ? kNotFinite : block - shift;
  }
  float convert(float x, int field) const {
    const float v = value(x);
    const float magnitude = field_of(v) == 0 ? 0.0f : std::fabs(v);  // subnormals are flushed
    const float steps = scaled(magnitude, 126 + magnitude_bits - field);
    const float count = rounded<kRounding>(steps, is_negative(v));
    const float kept = count < top ? count : top;
    const float y = scaled(std::copysign(kept, v), field - (126 + magnitude_bits));
    return field == kNotFinite ? std::bit_cast<float>(0x7FFFFFFFu) : y;
  }
};

/// The MX formats whose elements are small floats.
struct SmallFloats {
  static constexpr bool kHasParts = false;
  int lowest_exponent = 0;  ///< of a normal number
  int fraction_bits = 0, largest_exponent = 0;
  float largest = 0;

  int field(float x) const { return finite_field_of(x); }
  bool can_grow() const { return false; }
  int grows(float, int) const { return 0; }

  float convert(float x, int field) const {
    const int unit = field - kFieldBias - largest_exponent;
    const float inside = std::fabs(scaled(x, -unit));
    const int exponent = std::max(field_of(inside) - kFieldBias, lowest_exponent) - fraction_bits;
    const int bounded = std::min(exponent, 126);  // of Inf and NaN, whose result is not used
    const float steps = std::rint(inside * power_of_two(-bounded)) * power_of_two(bounded);
    const float magnitude = steps < largest ? steps : largest;
    const float y = scaled(magnitude == 0.0f ? 0.0f : std::copysign(magnitude, x), unit);
    return field_of(x) == kNotFinite ? x : y;
  }
};

}  // namespace
}  // namespace quarkq::numeric::QQ_ISA
