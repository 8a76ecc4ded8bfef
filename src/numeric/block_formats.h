// SPDX-License-Identifier: MIT
// What the block formats (block_formats.h, block_formats.h) share: how a tensor falls into blocks, and rounding by the
// reference's numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/isa.h"

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

// Block floating point (ref:operators#block-floating-point): the values of a block share one exponent ("to_bfp",
// BFP16), or an exponent and one small shift per sub-block ("to_bfp_prime": MX4, MX6, MX9). Input and output
// are float32, bit for bit as the reference's operator gives them.

enum class BfpMethod { kBfp, kBfpPrime };

constexpr int kBfpLeastBits = 10, kBfpMostBits = 32;  ///< bits of one stored value with its 8 exponent bits

struct BfpSettings {
  BfpMethod method = BfpMethod::kBfp;
  int bit_width = 16;  ///< sign, 8 exponent bits and bit_width - 9 bits of magnitude; kBfpLeastBits..kBfpMostBits
  BlockRounding rounding = BlockRounding::kHalfAway;
  int64_t sub_block_size = 2;       ///< kBfpPrime; divides the block size
  int sub_block_shift_bits = 1;     ///< kBfpPrime; 0..8
  bool bfloat_first = false;        ///< every value is rounded to bfloat16 before
  bool compiler_exponents = false;  ///< kBfp: the exponent grows when a largest value would round past the top
};

/// One block in place. A zero changes nothing about the others.
void convert_bfp_block(std::span<float> values, const BfpSettings& settings);

/// Some blocks of split.count(), with vectors (block_formats.h); y may be x.
void convert_bfp(const float* x, float* y, const BlockSplit& split, BlockRange blocks, const BfpSettings& settings);

/// `x` rounded to bfloat16 as the block formats do it (ref:operators#bfloat16-rounding): half to even on the bits, NaN
/// not looked at.
inline float bfloat16_rounded(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000);
}

// OCP microscaling (ref:operators#microscaling): the values of a block are small floats or 8-bit integers times one
// power of two. Input and output are float32, bit for bit as the reference's operator gives them.

/// One element format.
struct MxElement {
  std::string_view name;
  int exponent_bits, fraction_bits;  ///< 0 exponent bits: int8
  int largest_exponent;              ///< the shared power of two is this far below the largest value
  float largest;
};

/// "fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1" or "int8"; null for other names.
const MxElement* find_mx_element(std::string_view name);
/// All names, for messages.
std::string mx_element_names();

struct MxSettings {
  const MxElement* element = nullptr;
  BlockRounding rounding = BlockRounding::kHalfAway;  ///< int8 only; floats round half to even
};

/// One block in place. A zero changes nothing about the others. REQUIRES: settings.element is set.
void convert_mx_block(std::span<float> values, const MxSettings& settings);

/// Some blocks of split.count(), with vectors (block_formats.h); y may be x.
void convert_mx(const float* x, float* y, const BlockSplit& split, BlockRange blocks, const MxSettings& settings);

// Vectorized twins of convert_bfp_block() and convert_mx_block() for whole tensors: the same bits, tested on every
// instruction set. convert_bfp() and convert_mx() are the way in; they plan the work and lend the memory.

/// Blocks [begin, end) of `split`, how the loops go through them, and their scratch memory (which no *.isa.cpp file may
/// allocate: templates of the standard library compiled there would need that instruction set everywhere).
struct BlockWork {
  BlockSplit split;
  int64_t begin = 0, end = 0;
  bool is_within = false;    ///< elements of a block lie side by side; else one lane works on each block
  int64_t padded_block = 1;  ///< is_within: elements that a block takes up in `values`
  int64_t padded_part = 1;   ///< is_within: the same for a sub-block
  int64_t tile = 0;          ///< elements (is_within) or blocks side by side in `values`
  std::unique_ptr<float[]> values;
  std::unique_ptr<int32_t[]> fields, parts;  ///< room for kBlockColumns and for a tile
};

constexpr int64_t kBlockColumns = 256;  ///< most blocks side by side
constexpr int64_t kBlockLanes = 16;     ///< of the widest vectors; columns and tiles are multiples
constexpr int64_t kFewColumns = 16;     ///< with fewer runs side by side than this, they are copied together first

/// `sub_block`: elements of a part of a block with an exponent of its own; the block where there are none.
BlockWork plan_blocks(const BlockSplit& split, int64_t begin, int64_t end, int64_t sub_block);

// y may be x.
QQ_DECLARE_ISA(void bfp_blocks(const float* x, float* y, const BlockWork& work, const BfpSettings& settings);
               void mx_blocks(const float* x, float* y, const BlockWork& work, const MxSettings& settings);)

}  // namespace quarkq::numeric
