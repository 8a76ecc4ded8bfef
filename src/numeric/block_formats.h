// SPDX-License-Identifier: MIT
// Common parts of the block formats: division of a tensor into blocks, and rounding by the reference's numbers.
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

/// Rounding of a block format, numbered like the attribute rounding_mode. All keep integers. kHalfEven rounds a small
/// negative number to +0, the others to -0.
enum class BlockRounding { kHalfAway = 0, kHalfUp = 1, kHalfEven = 2 };

/// Returns the rounding of a value of the attribute. Other numbers mean kHalfAway, as in the reference.
inline BlockRounding block_rounding(int64_t mode) {
  return mode == 1 ? BlockRounding::kHalfUp : mode == 2 ? BlockRounding::kHalfEven : BlockRounding::kHalfAway;
}

inline float round_block_value(float x, BlockRounding rounding) {
  if (rounding == BlockRounding::kHalfAway) return std::round(x);
  const float down = std::floor(x), rest = x - down;
  if (rounding == BlockRounding::kHalfUp) return x < 0 && rest == 0.5f ? std::ceil(x) : std::round(x);
  if (rest == 0.5f) return std::fmod(down, 2.0f) != 0.0f ? down + 1.0f : down;
  return rest > 0.5f ? down + 1.0f : down;
}

/// Returns the exponent field of a float32, 0..255.
inline int exponent_field(float x) { return static_cast<int>((std::bit_cast<uint32_t>(x) >> 23) & 255); }

/// Returns the largest exponent field of a block. The exponent field of Inf and NaN counts as 0.
inline int shared_exponent(std::span<const float> values) {
  int largest = 0;
  for (const float value : values) {
    const int field = exponent_field(value);
    largest = std::max(largest, field == 255 ? 0 : field);
  }
  return largest;
}

/// Blocks along one axis of a row-major array [outer, length, inner]. A block has `block` elements (at least one) with
/// stride `inner`; the last block of a run is padded with zeros. Blocks are numbered in the order [outer, blocks(),
/// inner].
struct BlockSplit {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t block = 1;

  int64_t blocks() const {
    return length == 0 ? 0 : (length - 1) / block + 1;
  }  ///< Returns the number of blocks in
     ///< one run along the axis.
  int64_t count() const {
    return outer * blocks() * inner;
  }  ///< Returns the number of blocks in
     ///< the array.
};

/// The blocks [begin, end) of a split, by number.
struct BlockRange {
  int64_t begin = 0, end = 0;
};

// Block floating point (ref:operators#block-floating-point): the values of a block share one exponent ("to_bfp",
// BFP16), or one exponent and a small shift per sub-block ("to_bfp_prime": MX4, MX6, MX9). Input and output are
// float32, bit for bit equal to the reference's operator.

enum class BfpMethod { kBfp, kBfpPrime };

constexpr int kBfpLeastBits = 10, kBfpMostBits = 32;  ///< Bits of one stored value including its 8 exponent bits.

struct BfpSettings {
  BfpMethod method = BfpMethod::kBfp;
  int bit_width = 16;  ///< sign, 8 exponent bits and bit_width - 9 bits of magnitude; kBfpLeastBits..kBfpMostBits
  BlockRounding rounding = BlockRounding::kHalfAway;
  int64_t sub_block_size = 2;       ///< kBfpPrime; divides the block size
  int sub_block_shift_bits = 1;     ///< kBfpPrime; 0..8
  bool bfloat_first = false;        ///< Round every value to bfloat16 first.
  bool compiler_exponents = false;  ///< kBfp: increase the exponent if the largest value would otherwise round beyond
                                    ///< the top.
};

/// Converts one block in place. A zero does not affect the other values.
void convert_bfp_block(std::span<float> values, const BfpSettings& settings);

/// Converts the given blocks of split.count() with vectorized loops. `y` may be `x`.
void convert_bfp(const float* x, float* y, const BlockSplit& split, BlockRange blocks, const BfpSettings& settings);

/// Returns `x` rounded to bfloat16 in the way of the block formats (ref:operators#bfloat16-rounding): half to even on
/// the bits, without special treatment of NaN.
inline float bfloat16_rounded(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000);
}

// OCP microscaling (ref:operators#microscaling): the values of a block are small floats or 8-bit integers times one
// power of two. Input and output are float32, bit for bit equal to the reference's operator.

/// Element format of a microscaling block.
struct MxElement {
  std::string_view name;
  int exponent_bits, fraction_bits;  ///< 0 exponent bits: int8
  int largest_exponent;              ///< Exponent of the largest value relative to the shared power of two.
  float largest;
  uint32_t highest_fraction;  ///< Fraction bits of the largest float32 below 2^(largest_exponent + 1) that rounds to
                              ///< `largest` without saturation.

  /// Returns the number whose addition to a magnitude's bits increases the exponent field if the value would saturate
  /// in a block of its own exponent.
  uint32_t carry() const { return 0x7FFFFF - highest_fraction; }
};

/// Returns the format "fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1" or "int8", or null for other names.
const MxElement* find_mx_element(std::string_view name);
/// Returns all names, for messages.
std::string mx_element_names();

/// Attribute of MXQuantizeDequantize that the reference does not have, for MxSettings::round_scale_up. Absent: 0.
inline constexpr const char kRoundScaleUp[] = "round_scale_up";

struct MxSettings {
  const MxElement* element = nullptr;
  BlockRounding rounding = BlockRounding::kHalfAway;  ///< int8 only; floats round half to even
  bool round_scale_up = false;  ///< Floats only: double the scale if the largest value of the block would otherwise be
                                ///< saturated (ref:operators#microscaling).
};

/// Returns the exponent field of the block's power of two before largest_exponent is subtracted, 0..254.
int mx_shared_exponent(std::span<const float> values, const MxSettings& settings);

/// Converts one block in place. A zero does not affect the other values. REQUIRES: settings.element is set.
void convert_mx_block(std::span<float> values, const MxSettings& settings);

/// Converts the given blocks of split.count() with vectorized loops. `y` may be `x`.
void convert_mx(const float* x, float* y, const BlockSplit& split, BlockRange blocks, const MxSettings& settings);

// Vectorized versions of convert_bfp_block() and convert_mx_block() for whole tensors, with the same bits on every
// instruction set. Call convert_bfp() and convert_mx(), which plan the work and provide the memory.

/// The blocks [begin, end) of `split`, the iteration of the loops over them, and scratch memory. A *.isa.cpp file may
/// not allocate, because templates of the standard library compiled there would require that instruction set
/// everywhere.
struct BlockWork {
  BlockSplit split;
  int64_t begin = 0, end = 0;
  bool is_within = false;    ///< The elements of a block are contiguous; otherwise one lane processes each block.
  int64_t padded_block = 1;  ///< is_within: number of elements per block in `values`, including padding.
  int64_t padded_part = 1;   ///< is_within: number of elements per sub-block in `values`, including padding.
  int64_t tile = 0;          ///< Number of elements (is_within) or adjacent blocks in `values`.
  std::unique_ptr<float[]> values;
  std::unique_ptr<int32_t[]> fields, parts;  ///< Sufficient for kBlockColumns and for a tile.
};

constexpr int64_t kBlockColumns = 256;  ///< Upper bound on adjacent blocks.
constexpr int64_t kBlockLanes = 16;     ///< Lanes of the widest vectors; columns and tiles are multiples of it.
constexpr int64_t kFewColumns = 16;     ///< With fewer adjacent runs, these are copied into one buffer first.

/// Plans the loops. `sub_block` is the number of elements with their own exponent, or the block size if there are no
/// sub-blocks.
BlockWork plan_blocks(const BlockSplit& split, int64_t begin, int64_t end, int64_t sub_block);

// y may be x.
QQ_DECLARE_ISA(void bfp_blocks(const float* x, float* y, const BlockWork& work, const BfpSettings& settings);
               void mx_blocks(const float* x, float* y, const BlockWork& work, const MxSettings& settings);)

}  // namespace quarkq::numeric
