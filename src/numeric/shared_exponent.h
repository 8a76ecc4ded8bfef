// SPDX-License-Identifier: MIT
// What the block formats (bfp.h, mx.h) share: how a tensor falls into blocks, and rounding by the reference's numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

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

/// Blocks along one axis of a row-major array [outer, length, inner]: runs of `block` elements that lie `inner` apart,
/// the last run of an axis filled up with zeros.
struct BlockSplit {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t block = 1;

  int64_t blocks() const { return length == 0 ? 0 : (length - 1) / block + 1; }  ///< of one run along the axis
};

/// Calls convert(std::span<float>), which changes `split.block` values in place, for every block of `x`; results go to
/// `y` (which may be `x`). Blocks of runs [begin, end) of the split.outer * split.inner runs along the axis. REQUIRES:
/// split.block >= 1.
template <typename Convert>
void convert_blocks(const float* x, float* y, const BlockSplit& split, int64_t begin, int64_t end,
                    const Convert& convert) {
  std::vector<float> values(static_cast<size_t>(split.block));
  for (int64_t run = begin; run < end; ++run) {
    const int64_t base = run / split.inner * split.length * split.inner + run % split.inner;
    for (int64_t first = 0; first < split.length; first += split.block) {
      const int64_t count = split.length - first < split.block ? split.length - first : split.block;
      const int64_t offset = base + first * split.inner;
      for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = x[offset + i * split.inner];
      for (int64_t i = count; i < split.block; ++i) values[static_cast<size_t>(i)] = 0.0f;
      convert(std::span<float>(values));
      for (int64_t i = 0; i < count; ++i) y[offset + i * split.inner] = values[static_cast<size_t>(i)];
    }
  }
}

}  // namespace quarkq::numeric
