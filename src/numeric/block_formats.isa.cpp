// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "numeric/block_formats.h"

namespace quarkq::numeric::QQ_ISA {

namespace {

// One element of each block format, without branches, for the vectorized loops (block_formats.isa.cpp alone includes
// this). Scaling by powers of two and cutting off magnitudes before they are scaled back gives the bits of the
// definitions in block_formats.cpp and block_formats.cpp; what is exact there is exact here, and nothing is rounded
// twice.
//
// A format has: field(), what an element tells about its block; convert(), the element for what its block found;
// kHasParts with shifted() when sub-blocks shift the exponent; can_grow() with grows() when exponents may grow.

namespace {

constexpr int kFieldBias = 127, kNotFinite = 255;

inline float power_of_two(int exponent) {  // -126..127
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + kFieldBias) << 23);
}

/// Returns x * 2^exponent for exponents -149..149, rounded once. The first factor differs from 1 only if the exponent
/// is not the exponent of a normal number, and its rounding error is then far too small to matter.
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
  int lowest_exponent = 0;  ///< Smallest exponent of a normal number.
  int fraction_bits = 0, largest_exponent = 0;
  float largest = 0;
  uint32_t carry = 0;  ///< MxElement::carry() if the scale is rounded up.

  int field(float x) const {
    const auto raised = static_cast<int>(((std::bit_cast<uint32_t>(x) & 0x7FFFFFFF) + carry) >> 23);
    const int largest_field = kNotFinite - 1;
    const int finite = raised < largest_field ? raised : largest_field;
    return field_of(x) == kNotFinite ? 0 : finite;
  }
  bool can_grow() const { return false; }
  int grows(float, int) const { return 0; }

  float convert(float x, int field) const {
    const int unit = field - kFieldBias - largest_exponent;
    const float inside = std::fabs(scaled(x, -unit));
    const int exponent = std::max(field_of(inside) - kFieldBias, lowest_exponent) - fraction_bits;
    const int bounded = std::min(exponent, 126);  // for Inf and NaN, whose result is not used
    const float steps = std::rint(inside * power_of_two(-bounded)) * power_of_two(bounded);
    const float magnitude = steps < largest ? steps : largest;
    const float y = scaled(magnitude == 0.0f ? 0.0f : std::copysign(magnitude, x), unit);
    return field_of(x) == kNotFinite ? x : y;
  }
};

}  // namespace

// Vectorized steps of the block formats (block_formats.isa.cpp alone includes this): what rows of elements tell about
// their blocks, one int32 "field" per element or column; the maximum of neighbours; converting by it.

namespace {

template <typename Format>
void raise_fields(const float* x, int32_t* fields, int64_t n, const Format format) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const int field = format.field(x[i]);
    fields[i] = fields[i] > field ? fields[i] : field;
  }
}
template <typename Format>
void mark_growth(const float* x, const int32_t* fields, int32_t* marks, int64_t n, const Format format) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) marks[i] |= format.grows(x[i], fields[i]);
}
template <typename Format>
void shift_fields(const int32_t* fields, int32_t* parts, int64_t n, const Format format) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) parts[i] = format.shifted(fields[i], parts[i]);
}
template <typename Format>
void convert_row(const float* x, const int32_t* fields, float* y, int64_t n, const Format format) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = format.convert(x[i], fields[i]);
}
inline void add_row(const int32_t* x, int32_t* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}
inline void clear(int32_t* x, int64_t n) { std::memset(x, 0, static_cast<size_t>(n) * sizeof(int32_t)); }

// ---- maxima of neighbours -------------------------------------------------------------------------------------------

constexpr size_t kLanes = __BIGGEST_ALIGNMENT__ / sizeof(int32_t);  // Lanes of the widest vectors: 4, 8 or 16.
using Lanes __attribute__((vector_size(kLanes * sizeof(int32_t)))) = int32_t;

inline Lanes load(const int32_t* x) {
  Lanes v;
  std::memcpy(&v, x, sizeof v);
  return v;
}

template <size_t kStep, size_t... kLane>
Lanes exchanged(Lanes v, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(v, v, (kLane ^ kStep)...);
}
/// The larger of each lane and the one `kStep` away within its pair of groups.
template <size_t kStep>
Lanes pair_max(Lanes v) {
  if constexpr (kStep >= kLanes) {
    return v;
  } else {
    const Lanes other = exchanged<kStep>(v, std::make_index_sequence<kLanes>());
    return v > other ? v : other;
  }
}
/// The maximum of each group of `group` lanes (a power of two) in all its lanes.
inline Lanes group_max(Lanes v, int64_t group) {
  if (group > 1) v = pair_max<1>(v);
  if (group > 2) v = pair_max<2>(v);
  if (group > 4) v = pair_max<4>(v);
  if (group > 8) v = pair_max<8>(v);
  return v;
}

/// Spreads maxima in memory. Groups wider than a vector are whole vectors. `n` may end within an existing vector.
inline void spread_max(int32_t* values, int64_t n, int64_t group) {
  constexpr auto kWidth = static_cast<int64_t>(kLanes);
  const int64_t span = group > kWidth ? group : kWidth;
  for (int64_t first = 0; first < n; first += span) {
    Lanes most = load(values + first);
    for (int64_t i = kWidth; i < span; i += kWidth) {
      const Lanes more = load(values + first + i);
      most = most > more ? most : more;
    }
    most = group_max(most, group);
    for (int64_t i = 0; i < span; i += kWidth) std::memcpy(values + first + i, &most, sizeof most);
  }
}

}  // namespace

// Iteration of the vectorized loops over blocks. If the elements of a block are contiguous, vectors contain parts of
// blocks or whole blocks, and maxima spread within a vector. Otherwise vectors contain one element of many blocks.

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

/// Calls use(offset in the tensor, elements, offset in the tile, elements with padding) for stretches of blocks [begin,
/// end) that have the same layout in both.
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

template <BlockRounding kRounding>
void bfp_with(const float* x, float* y, const BlockWork& work, const BfpSettings& settings) {
  const int bits = settings.bit_width - 9;
  const BfloatFirst value{settings.bfloat_first ? ~0u : 0u};
  const auto top = static_cast<float>((1 << bits) - 1);
  if (settings.method == BfpMethod::kBfpPrime) {
    const int largest_shift = (1 << settings.sub_block_shift_bits) - 1;
    return convert_all(x, y, work, settings.sub_block_size, ShiftedSteps<kRounding>{bits, largest_shift, top, value});
  }
  SharedSteps<kRounding> format{bits, 126 + bits, 1.0f, top, top, value, settings.compiler_exponents};
  if (settings.compiler_exponents) {  // the reference's limits, 2^bits - 1 times 2^(bits - 1) steps: above all but this
    format.top = bits == 1 ? 1.0f : 0x1p24f;
    format.top_negative = 0x1p24f;
  }
  convert_all(x, y, work, work.split.block, format);
}

template <BlockRounding kRounding>
void int8_with(const float* x, float* y, const BlockWork& work) {
  convert_all(x, y, work, work.split.block, SharedSteps<kRounding>{7, 127, 64.0f, 127.0f, 128.0f, {}, false});
}

}  // namespace

void bfp_blocks(const float* x, float* y, const BlockWork& work, const BfpSettings& settings) {
  switch (settings.rounding) {
    case BlockRounding::kHalfAway: return bfp_with<BlockRounding::kHalfAway>(x, y, work, settings);
    case BlockRounding::kHalfUp: return bfp_with<BlockRounding::kHalfUp>(x, y, work, settings);
    case BlockRounding::kHalfEven: return bfp_with<BlockRounding::kHalfEven>(x, y, work, settings);
  }
}

void mx_blocks(const float* x, float* y, const BlockWork& work, const MxSettings& settings) {
  const MxElement& e = *settings.element;
  if (e.exponent_bits > 0) {
    const int lowest = 2 - (1 << (e.exponent_bits - 1));
    return convert_all(
        x, y, work, work.split.block,
        SmallFloats{lowest, e.fraction_bits, e.largest_exponent, e.largest, settings.round_scale_up ? e.carry() : 0});
  }
  switch (settings.rounding) {
    case BlockRounding::kHalfAway: return int8_with<BlockRounding::kHalfAway>(x, y, work);
    case BlockRounding::kHalfUp: return int8_with<BlockRounding::kHalfUp>(x, y, work);
    case BlockRounding::kHalfEven: return int8_with<BlockRounding::kHalfEven>(x, y, work);
  }
}

}  // namespace quarkq::numeric::QQ_ISA
