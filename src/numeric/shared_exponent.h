// SPDX-License-Identifier: MIT
// What the block formats (bfp.h, mx.h) share: how a tensor falls into blocks, and rounding by the reference's numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace quarkq::numeric {

/// Rounding of a block format, by the number that the attribute rounding_mode holds. All keep integers; kHalfEven turns
/// a small negative number into +0, the others into -0.
enum class BlockRounding { kHalfAway = 0, kHalfUp = 1, kHalfEven = 2 };

inline float round_block_value(float x, BlockRounding rounding) {
  if (rounding == BlockRounding::kHalfAway) return std::round(x);
  const float down = std::floor(x), rest = x - down;
  if (rounding == BlockRounding::kHalfUp) return x < 0 && rest == 0.5f ? std::ceil(x) : std::round(x);
  if (rest == 0.5f) return std::fmod(down, 2.0f) != 0.0f ? down + 1.0f : down;
  return rest > 0.5f ? down + 1.0f : down;
}

/// The exponent field of a float32, 0..255.
inline int exponent_field(float x) { return static_cast<int>((std::bit_cast<uint32_t>(x) >> 23) & 255); }

/// The largest exponent field of a block; the one of Inf and NaN counts as 0.
inline int shared_exponent(std::span<const float> values) {
  int largest = 0;
  for (const float value : values) {
    const int field = exponent_field(value);
    largest = std::max(largest, field == 255 ? 0 : field);
  }
  return largest;
}

/// Blocks along one axis of a row-major array [outer, length, inner]: `block` elements (at least one) that lie `inner`
/// apart, the last block of a run along the axis filled up with zeros. Numbered as they lie: [outer, blocks(), inner].
struct BlockSplit {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t block = 1;

  int64_t blocks() const { return length == 0 ? 0 : (length - 1) / block + 1; }  ///< of one run along the axis
  int64_t count() const { return outer * blocks() * inner; }                     ///< of the array
};

/// Some of the blocks of a split by their numbers: [begin, end).
struct BlockRange {
  int64_t begin = 0, end = 0;
};

}  // namespace quarkq::numeric
