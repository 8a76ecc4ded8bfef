// SPDX-License-Identifier: MIT
// Block floating point (ref:operators#block-floating-point): the values of a block share one exponent ("to_bfp",
// BFP16), or an exponent and one small shift per sub-block ("to_bfp_prime": MX4, MX6, MX9). Input and output
// are float32, bit for bit as the reference's operator gives them.
#pragma once

#include <cstdint>

#include "numeric/shared_exponent.h"

namespace quarkq::numeric {

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

/// Some blocks of split.count(), with vectors (block_loops.h); y may be x.
void convert_bfp(const float* x, float* y, const BlockSplit& split, BlockRange blocks, const BfpSettings& settings);

/// `x` rounded to bfloat16 as the block formats do it (ref:operators#bfloat16-rounding): half to even on the bits, NaN
/// not looked at.
inline float bfloat16_rounded(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000);
}

}  // namespace quarkq::numeric
