// SPDX-License-Identifier: MIT
#include "numeric/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace quarkq::numeric::QQ_ISA {

namespace {

constexpr int64_t kLanes = 32;
constexpr float kLargestBfloat16 = 3.38953139e38f, kSmallestBfloat16 = std::numeric_limits<float>::min();

inline float clipped(float value) {
  const float sign = value > 0 ? 1.0f : value < 0 ? -1.0f : 0.0f;
  const float size = std::abs(value);
  const float raised = size < kSmallestBfloat16 ? kSmallestBfloat16 : size;
  return sign * (kLargestBfloat16 < raised ? kLargestBfloat16 : raised);
}

inline float rounded_half_away(float value) {
  const float whole = std::trunc(value), rest = value - whole;
  return whole + (rest >= 0.5f ? 1.0f : rest <= -0.5f ? -1.0f : -0.0f);  // -0 keeps the sign of a zero
}

/// The codes of a width, and how they are stored.
struct CodeRange {
  float largest, middle;
  int32_t moved_by;  ///< Added to stored codes and zero points.
  int32_t stored_bits;

  explicit CodeRange(int bits)
      : largest(static_cast<float>((1 << bits) - 1)),
        middle(static_cast<float>(1 << (bits - 1))),
        moved_by(bits == 3 ? 4 : 0),
        stored_bits(bits == 3 ? 4 : bits) {}
  int64_t per_byte() const { return 8 / stored_bits; }
  /// NaN becomes 0.
  float limited(float code) const {
    const float positive = code >= 0 ? code : 0.0f;
    return positive > largest ? largest : positive;
  }
};

/// Columns that are rounded together: a row of a tile is four cache lines, and a tile of 128 rows fits into the first
/// level of the cache.
constexpr int64_t kTile = 64;
constexpr int64_t kMostRows = 256;  // Rows of a tile whose bytes are kept before they are transposed.

struct Tile {
  float low[kTile], high[kTile];
  float scale[kTile], inverse[kTile], zero[kTile];
  uint8_t bytes[kMostRows * kTile];
};

void find_ranges(const float* rows, int64_t stride, int64_t count, int64_t width, Tile& tile) {
  for (int64_t c = 0; c < width; ++c) tile.low[c] = tile.high[c] = rows[c];
  for (int64_t r = 1; r < count; ++r) {
    const float* row = rows + r * stride;
#pragma omp simd
    for (int64_t c = 0; c < width; ++c) {  // of equal values the first is the smallest, the last the largest
      tile.low[c] = row[c] < tile.low[c] ? row[c] : tile.low[c];
      tile.high[c] = row[c] < tile.high[c] ? tile.high[c] : row[c];
    }
  }
}

void find_symmetric_grids(int64_t width, const CodeRange& range, Tile& tile) {
  for (int64_t c = 0; c < width; ++c) {
    const float low = tile.low[c], high = tile.high[c];
    tile.scale[c] = normal_scale((std::abs(high) > std::abs(low) ? high : low) / -range.middle);
    tile.zero[c] = range.middle;
  }
}

void find_asymmetric_grids(int64_t width, const CodeRange& range, Tile& tile) {
  for (int64_t c = 0; c < width; ++c) {
    const float low = 0.0f < tile.low[c] ? 0.0f : tile.low[c], high = tile.high[c] < 0.0f ? 0.0f : tile.high[c];
    const float scale = normal_scale((high - low) / range.largest);
    tile.scale[c] = scale;
    tile.zero[c] = scale == 0 ? 0.0f : std::clamp(rounded_half_away(-low / scale), 0.0f, range.largest);
  }
}

/// `count` rows of a tile, `stride` elements apart.
struct TileRows {
  const float* first;
  int64_t stride, count, width;
};

/// Encodes the rows of one byte per column. There may be fewer rows than a byte has codes: the others are 0.
void encode_byte(const TileRows& rows, const CodeRange& range, const Tile& tile, uint8_t* bytes) {
  for (int64_t r = 0; r < rows.count; ++r) {
    const float* const values = rows.first + r * rows.stride;
    const auto shift = static_cast<int32_t>(r) * range.stored_bits;
    const int32_t kept = r == 0 ? 0 : 0xff;
#pragma omp simd
    for (int64_t c = 0; c < rows.width; ++c) {
      const float steps = rounded_half_away(values[c] * tile.inverse[c] + tile.zero[c]);
      const int32_t code = static_cast<int32_t>(range.limited(steps)) + range.moved_by;
      bytes[c] = static_cast<uint8_t>((bytes[c] & kept) | code << shift);
    }
  }
}

/// Encodes the rows of a block, and stores the bytes of each column together, `to_stride` bytes apart.
void encode_block(const TileRows& rows, const CodeRange& range, Tile& tile, uint8_t* to, int64_t to_stride) {
  const int64_t per_byte = range.per_byte();
  for (int64_t part = 0; part < rows.count; part += kMostRows) {
    const int64_t count = std::min(kMostRows, rows.count - part), bytes = (count + per_byte - 1) / per_byte;
    for (int64_t p = 0; p < bytes; ++p) {
      const int64_t row = p * per_byte;
      const TileRows some{rows.first + (part + row) * rows.stride, rows.stride, std::min(per_byte, count - row),
                          rows.width};
      encode_byte(some, range, tile, tile.bytes + p * kTile);
    }
    for (int64_t c = 0; c < rows.width; ++c) {
      uint8_t* const column = to + c * to_stride + part / per_byte;
      for (int64_t p = 0; p < bytes; ++p) column[p] = tile.bytes[p * kTile + c];
    }
  }
}

}  // namespace

Extremes extremes(const float* values, int64_t count) {
  float low[kLanes], high[kLanes];
  int32_t nan[kLanes] = {};
  const float none = std::numeric_limits<float>::infinity();
  for (int64_t lane = 0; lane < kLanes; ++lane) low[lane] = none, high[lane] = -none;
  const auto add = [&](int64_t lane, float value) {
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
    nan[lane] |= static_cast<int32_t>(value != value);
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (int64_t lane = 0; lane < kLanes; ++lane) add(lane, values[i + lane]);
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) add(lane, values[i]);
  Extremes found{low[0], high[0], false};
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    found.min = std::min(found.min, low[lane]);
    found.max = std::max(found.max, high[lane]);
    found.has_nan = found.has_nan || nan[lane] != 0;
  }
  return found;
}

bool needs_bfloat16_clip(const float* values, int64_t count) {
  constexpr int64_t kStep = 4096;
  for (int64_t begin = 0; begin < count; begin += kStep) {
    const int64_t end = std::min(count, begin + kStep);
    uint32_t changed = 0;
#pragma omp simd reduction(| : changed)
    for (int64_t i = begin; i < end; ++i) {
      const auto before = std::bit_cast<uint32_t>(values[i]), after = std::bit_cast<uint32_t>(clipped(values[i]));
      changed |= before ^ after;
    }
    if (changed != 0) return true;
  }
  return false;
}

void clip_to_bfloat16(const float* values, float* result, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) result[i] = clipped(values[i]);
}

void round_nbits(const NBitsMatrix& matrix, int64_t begin, int64_t end, const NBitsBlocks& out) {
  const CodeRange range(matrix.bits);
  const int64_t blocks = (matrix.depth + matrix.block - 1) / matrix.block, bytes = matrix.block / range.per_byte();
  Tile tile;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t first = b * matrix.block, rows = std::min(matrix.block, matrix.depth - first);
    for (int64_t column = begin; column < end; column += kTile) {
      const int64_t width = std::min(kTile, end - column);
      const float* const at = matrix.values + first * matrix.columns + column;
      find_ranges(at, matrix.columns, rows, width, tile);
      if (matrix.is_symmetric) {
        find_symmetric_grids(width, range, tile);
      } else {
        find_asymmetric_grids(width, range, tile);
      }
      for (int64_t c = 0; c < width; ++c) {
        tile.inverse[c] = tile.scale[c] != 0 ? 1.0f / tile.scale[c] : 0.0f;
        out.scales[(column + c) * blocks + b] = tile.scale[c];
        const float zero = tile.zero[c];
        // An addition of 0 would lose the sign of a zero.
        out.zeros[(column + c) * blocks + b] = range.moved_by == 0 ? zero : zero + static_cast<float>(range.moved_by);
      }
      uint8_t* const to = out.packed + (column * blocks + b) * bytes;
      encode_block({at, matrix.columns, rows, width}, range, tile, to, blocks * bytes);
    }
  }
}

}  // namespace quarkq::numeric::QQ_ISA
