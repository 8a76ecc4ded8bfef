// SPDX-License-Identifier: MIT
#include "numeric/block_loops.h"

#include "numeric/block_tiles.h"

namespace quarkq::numeric::QQ_ISA {
namespace {

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
    return convert_all(x, y, work, work.split.block,
                       SmallFloats{lowest, e.fraction_bits, e.largest_exponent, e.largest});
  }
  switch (settings.rounding) {
    case BlockRounding::kHalfAway: return int8_with<BlockRounding::kHalfAway>(x, y, work);
    case BlockRounding::kHalfUp: return int8_with<BlockRounding::kHalfUp>(x, y, work);
    case BlockRounding::kHalfEven: return int8_with<BlockRounding::kHalfEven>(x, y, work);
  }
}

}  // namespace quarkq::numeric::QQ_ISA
