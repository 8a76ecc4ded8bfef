// SPDX-License-Identifier: MIT
// How the vectorized loops go through blocks (block_loops.isa.cpp alone includes this). Elements of a block side by
// side: vectors hold parts of blocks or whole ones, and maxima spread within a vector. Else vectors hold one element
// of many blocks.
#pragma once

#include <cstring>

#include "numeric/block_loops.h"
#include "numeric/block_rows.h"

namespace quarkq::numeric::QQ_ISA {
namespace {

static_assert(kBlockLanes % kLanes == 0);

// ---- blocks side by side --------------------------------------------------------------------------------------------

/// One element of each of `columns` blocks in a row.
struct Columns {
  const float* x;
  float* y;
  int64_t stride, rows, columns;
};

template <typename Format>
void convert_parts(const Columns& c, const BlockWork& work, int64_t part, const Format format) {
  for (int64_t first = 0; first < c.rows; first += part) {
    const int64_t last = first + part < c.rows ? first + part : c.rows;
    clear(work.parts.get(), c.columns);
    for (int64_t i = first; i < last; ++i) raise_fields(c.x + i * c.stride, work.parts.get(), c.columns, format);
    shift_fields(work.fields.get(), work.parts.get(), c.columns, format);
    for (int64_t i = first; i < last; ++i) {
      convert_row(c.x + i * c.stride, work.parts.get(), c.y + i * c.stride, c.columns, format);
    }
  }
}

template <typename Format>
void convert_columns(const Columns& c, const BlockWork& work, int64_t part, const Format format) {
  int32_t* fields = work.fields.get();
  clear(fields, c.columns);
  for (int64_t i = 0; i < c.rows; ++i) raise_fields(c.x + i * c.stride, fields, c.columns, format);
  if constexpr (Format::kHasParts) {
    return convert_parts(c, work, part, format);
  } else if (format.can_grow()) {
    clear(work.parts.get(), c.columns);
    for (int64_t i = 0; i < c.rows; ++i) {
      mark_growth(c.x + i * c.stride, fields, work.parts.get(), c.columns, format);
    }
    add_row(work.parts.get(), fields, c.columns);
  }
  for (int64_t i = 0; i < c.rows; ++i) {
    convert_row(c.x + i * c.stride, fields, c.y + i * c.stride, c.columns, format);
  }
}

/// Where block `number` is, and how much of it the axis has.
struct Place {
  int64_t offset, rows, column;
};
inline Place place_of(const BlockSplit& split, int64_t number) {
  const int64_t blocks = split.blocks(), column = number % split.inner;
  const int64_t row = number / split.inner % blocks * split.block, outer = number / split.inner / blocks;
  const int64_t rows = split.length - row < split.block ? split.length - row : split.block;
  return {(outer * split.length + row) * split.inner + column, rows, column};
}

/// Calls use(offset in the tensor, rows, first column of the tile, columns) for neighbours among [begin, end).
template <typename Use>
void for_neighbours(const BlockSplit& split, int64_t begin, int64_t end, const Use& use) {
  for (int64_t number = begin; number < end;) {
    const Place place = place_of(split, number);
    const int64_t count = std::min(split.inner - place.column, end - number);
    use(place.offset, place.rows, number - begin, count);
    number += count;
  }
}

/// Copies blocks, side by side in rows of `stride` values, from or to the tensor.
template <bool kBack>
void copy_gathered(const BlockSplit& split, BlockRange blocks, int64_t stride, const float* from, float* to) {
  for_neighbours(split, blocks.begin, blocks.end, [&](int64_t offset, int64_t rows, int64_t column, int64_t count) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t outside = offset + i * split.inner, inside = i * stride + column;
      const float* source = from + (kBack ? inside : outside);
      float* target = to + (kBack ? outside : inside);
      for (int64_t k = 0; k < count; ++k) target[k] = source[k];
    }
  });
}

/// Copied together, with zeros after short blocks and in columns that fill the last vector.
template <typename Format>
void convert_gathered(const float* x, float* y, const BlockWork& work, int64_t part, const Format format) {
  const BlockSplit& split = work.split;
  float* values = work.values.get();
  const int64_t stride = work.tile;
  for (int64_t begin = work.begin; begin < work.end; begin += stride) {
    const int64_t end = std::min(begin + stride, work.end);
    const int64_t columns = (end - begin + kBlockLanes - 1) / kBlockLanes * kBlockLanes;
    std::memset(values, 0, static_cast<size_t>(stride * split.block) * sizeof(float));
    copy_gathered<false>(split, {begin, end}, stride, x, values);
    convert_columns({values, values, stride, split.block, columns}, work, part, format);
    copy_gathered<true>(split, {begin, end}, stride, values, y);
  }
}

template <typename Format>
void convert_across(const float* x, float* y, const BlockWork& work, int64_t part, const Format format) {
  const BlockSplit& split = work.split;
  if (split.inner < kFewColumns) return convert_gathered(x, y, work, part, format);
  for (int64_t number = work.begin; number < work.end;) {
    const Place place = place_of(split, number);
    const int64_t columns = std::min(std::min(split.inner - place.column, work.end - number), kBlockColumns);
    convert_columns({x + place.offset, y + place.offset, split.inner, place.rows, columns}, work, part, format);
    number += columns;
  }
}

// ---- elements side by side ------------------------------------------------------------------------------------------

/// `n` elements, whole blocks, at most a tile.
template <typename Format>
void convert_tile(const float* x, float* y, int64_t n, const BlockWork& work, const Format format) {
  int32_t *fields = work.fields.get(), *parts = work.parts.get();
  const int64_t used = (n + kBlockLanes - 1) / kBlockLanes * kBlockLanes;
  clear(fields, used);
  raise_fields(x, fields, n, format);
  if constexpr (Format::kHasParts) {
    std::memcpy(parts, fields, static_cast<size_t>(used) * sizeof(int32_t));
    spread_max(parts, n, work.padded_part);
    spread_max(fields, n, work.padded_block);
    shift_fields(fields, parts, n, format);
    return convert_row(x, parts, y, n, format);
  }
  spread_max(fields, n, work.padded_block);
  if (format.can_grow()) {
    clear(parts, used);
    mark_growth(x, fields, parts, n, format);
    spread_max(parts, n, work.padded_block);
    add_row(parts, fields, n);
  }
  convert_row(x, fields, y, n, format);
}

/// Calls use(offset in the tensor, elements, offset in the tile, elements with padding) for stretches of blocks
/// [begin, end) that lie the same way in both.
template <typename Use>
void for_stretches(const BlockWork& work, int64_t begin, int64_t end, const Use& use) {
  const BlockSplit& split = work.split;
  const int64_t blocks = split.blocks(), padded = work.padded_block;
  for (int64_t number = begin; number < end;) {
    const int64_t block = number % blocks;
    const int64_t count = padded == split.block ? std::min(blocks - block, end - number) : 1;
    const int64_t offset = number / blocks * split.length + block * split.block;
    const int64_t elements = std::min(count * split.block, split.length - block * split.block);
    use(offset, elements, (number - begin) * padded, count * padded);
    number += count;
  }
}

template <typename Format>
void convert_within(const float* x, float* y, const BlockWork& work, const Format format) {
  const BlockSplit& split = work.split;
  const int64_t padded = work.padded_block, most = work.tile / padded;
  const bool is_dense = padded == split.block && split.length % split.block == 0;
  float* values = work.values.get();
  for (int64_t begin = work.begin; begin < work.end; begin += most) {
    const int64_t end = std::min(begin + most, work.end), n = (end - begin) * padded;
    if (is_dense) {
      convert_tile(x + begin * padded, y + begin * padded, n, work, format);
      continue;
    }
    for_stretches(work, begin, end, [&](int64_t offset, int64_t elements, int64_t to, int64_t room) {
      std::memcpy(values + to, x + offset, static_cast<size_t>(elements) * sizeof(float));
      std::memset(values + to + elements, 0, static_cast<size_t>(room - elements) * sizeof(float));
    });
    convert_tile(values, values, n, work, format);
    for_stretches(work, begin, end, [&](int64_t offset, int64_t elements, int64_t from, int64_t) {
      std::memcpy(y + offset, values + from, static_cast<size_t>(elements) * sizeof(float));
    });
  }
}

template <typename Format>
void convert_all(const float* x, float* y, const BlockWork& work, int64_t part, const Format format) {
  if (work.is_within) return convert_within(x, y, work, format);
  convert_across(x, y, work, part, format);
}

}  // namespace
}  // namespace quarkq::numeric::QQ_ISA
